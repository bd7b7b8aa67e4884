// What a watched process and everything that it starts asks the kernel to do to files, devices and
// mounts: every system call and every io_uring request that can change something, with the object
// that it is done to, and every request that changes one of the guarded block devices.
//
// A process is watched if its thread group stands in `watched`; whoever is forked by one is, too.
// (io_uring's workers belong to the thread group that made the ring.) Each deed on one object is
// told once an attempt. A process can be sent a signal at its Nth system call, so that what happens
// meanwhile happens at a chosen point, not at a lucky one.
//
// Tracepoints only: they work where kprobes, fentry and LSM programs are refused, too. What is named
// by a descriptor is told by its inode. What is named by a path is told by its text; where that leads
// in the end is for fanotify to tell, which watches the objects that must not change.
//
// x86-64. Compiled by clang when it is needed. Structures name only the members that are read: where
// they are is found out from the running kernel's own description (BTF) when this is loaded.
#include <asm/unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define DEEPEST 12
#define NAME 32
#define TEXT 192
#define CALLS 512
#define AT_FDCWD -100
#define PROT_WRITE 2
#define MAP_TYPE 15
#define MAP_PRIVATE 2
#define FMODE_WRITE 2
#define O_CHANGES (0100 | 01000 | 020000000) // O_CREAT, O_TRUNC, O_TMPFILE
#define S_IFMT 0170000
#define S_IFBLK 0060000
#define LOOP_MAJOR 7
#define REQUEST_MASK 255
#define BTRFS 0x9123683e
#define LOOP_SET_FD 0x4c00
#define LOOP_CONFIGURE 0x4c0a
#define FIXED_FILE 1ul
#define FILE_POINTER (~7ul)

// The same order as `Deed` in `event.rs`.
enum deed {
	WRITE = 1, MAP, IOCTL, TRUNCATE, ATTRIBUTE, CREATE, LINK, UNLINK, RENAME, MOUNT, UNMOUNT,
	RING_COMMAND, BLOCK_REQUEST, SIGNAL, UNKNOWN,
};

// One of a call's arguments, from 1; 0 is none.
struct call {
	__u8 deed;
	__u8 file;          // a descriptor of what is changed
	__u8 folder, path;  // a path, and the descriptor that it begins at; a path alone begins here
	__u8 folder2, path2;
};

static const struct call calls[CALLS] = {
	[__NR_write] = { WRITE, 1 }, [__NR_pwrite64] = { WRITE, 1 }, [__NR_writev] = { WRITE, 1 },
	[__NR_pwritev] = { WRITE, 1 }, [__NR_pwritev2] = { WRITE, 1 },
	[__NR_fallocate] = { WRITE, 1 }, [__NR_copy_file_range] = { WRITE, 3 },
	[__NR_splice] = { WRITE, 3 }, [__NR_sendfile] = { WRITE, 1 },
	[__NR_mmap] = { MAP, 5 }, [__NR_ioctl] = { IOCTL, 1 },
	[__NR_ftruncate] = { TRUNCATE, 1 }, [__NR_truncate] = { TRUNCATE, 0, 0, 1 },
	[__NR_fchmod] = { ATTRIBUTE, 1 }, [__NR_fchown] = { ATTRIBUTE, 1 },
	[__NR_chmod] = { ATTRIBUTE, 0, 0, 1 }, [__NR_fchmodat] = { ATTRIBUTE, 0, 1, 2 },
	[452 /* fchmodat2 */] = { ATTRIBUTE, 0, 1, 2 },
	[__NR_chown] = { ATTRIBUTE, 0, 0, 1 }, [__NR_lchown] = { ATTRIBUTE, 0, 0, 1 },
	[__NR_fchownat] = { ATTRIBUTE, 0, 1, 2 }, [__NR_utimensat] = { ATTRIBUTE, 0, 1, 2 },
	[__NR_utime] = { ATTRIBUTE, 0, 0, 1 }, [__NR_utimes] = { ATTRIBUTE, 0, 0, 1 },
	[__NR_futimesat] = { ATTRIBUTE, 0, 1, 2 },
	[__NR_setxattr] = { ATTRIBUTE, 0, 0, 1 }, [__NR_lsetxattr] = { ATTRIBUTE, 0, 0, 1 },
	[__NR_fsetxattr] = { ATTRIBUTE, 1 }, [__NR_removexattr] = { ATTRIBUTE, 0, 0, 1 },
	[__NR_lremovexattr] = { ATTRIBUTE, 0, 0, 1 }, [__NR_fremovexattr] = { ATTRIBUTE, 1 },
	[__NR_open] = { CREATE, 0, 0, 1 }, [__NR_openat] = { CREATE, 0, 1, 2 },
	[__NR_openat2] = { CREATE, 0, 1, 2 }, [__NR_creat] = { CREATE, 0, 0, 1 },
	[__NR_mkdir] = { CREATE, 0, 0, 1 }, [__NR_mkdirat] = { CREATE, 0, 1, 2 },
	[__NR_mknod] = { CREATE, 0, 0, 1 }, [__NR_mknodat] = { CREATE, 0, 1, 2 },
	[__NR_symlink] = { CREATE, 0, 0, 2 }, [__NR_symlinkat] = { CREATE, 0, 2, 3 },
	[__NR_link] = { LINK, 0, 0, 1, 0, 2 }, [__NR_linkat] = { LINK, 0, 1, 2, 3, 4 },
	[__NR_unlink] = { UNLINK, 0, 0, 1 }, [__NR_unlinkat] = { UNLINK, 0, 1, 2 },
	[__NR_rmdir] = { UNLINK, 0, 0, 1 },
	[__NR_rename] = { RENAME, 0, 0, 1, 0, 2 }, [__NR_renameat] = { RENAME, 0, 1, 2, 3, 4 },
	[__NR_renameat2] = { RENAME, 0, 1, 2, 3, 4 },
	[__NR_mount] = { MOUNT, 0, 0, 1, 0, 2 }, [__NR_move_mount] = { MOUNT, 0, 0, 0, 3, 4 },
	[__NR_umount2] = { UNMOUNT, 0, 0, 1 },
	// What is not taken apart above, and nothing that is watched has a reason to do.
	[__NR_swapon] = { UNKNOWN }, [__NR_swapoff] = { UNKNOWN }, [__NR_io_submit] = { UNKNOWN },
	[__NR_pivot_root] = { UNKNOWN }, [__NR_chroot] = { UNKNOWN }, [__NR_acct] = { UNKNOWN },
	[__NR_quotactl] = { UNKNOWN }, [__NR_open_by_handle_at] = { UNKNOWN },
	[__NR_reboot] = { UNKNOWN }, [__NR_mount_setattr] = { UNKNOWN },
	[463 /* setxattrat */] = { UNKNOWN }, [466 /* removexattrat */] = { UNKNOWN },
	[469 /* file_setattr */] = { UNKNOWN },
};

// The same of io_uring. Paths are not taken apart: nothing that is watched has a reason to use them.
static const __u8 requests[64] = {
	[2] = WRITE, [5] = WRITE, [23] = WRITE, [61] = WRITE, // WRITEV, WRITE_FIXED, WRITE, WRITEV_FIXED
	[17] = WRITE, [30] = WRITE,                           // FALLOCATE, SPLICE
	[55] = TRUNCATE, [41] = ATTRIBUTE, [46] = RING_COMMAND,
	[18] = UNKNOWN, [28] = UNKNOWN,                       // OPENAT, OPENAT2
	[35] = UNKNOWN, [36] = UNKNOWN, [37] = UNKNOWN, [38] = UNKNOWN, [39] = UNKNOWN, // RENAMEAT, ...
	[42] = UNKNOWN,                                       // SETXATTR
};

#define READ_HERE __attribute__((preserve_access_index))

struct qstr { const unsigned char *name; } READ_HERE;
struct gendisk { int major; void *private_data; } READ_HERE;
struct block_device { struct gendisk *bd_disk; __u32 bd_dev; } READ_HERE;
struct super_block { __u32 s_dev; unsigned long s_magic; struct block_device *s_bdev;
	void *s_fs_info; } READ_HERE;
struct btrfs_device { struct block_device *bdev; } READ_HERE;
struct btrfs_fs_devices { struct btrfs_device *latest_dev; } READ_HERE;
struct btrfs_fs_info { struct btrfs_fs_devices *fs_devices; } READ_HERE;
struct inode { __u16 i_mode; unsigned long i_ino; __u32 i_rdev; struct super_block *i_sb; } READ_HERE;
struct bdev_inode { struct block_device bdev; struct inode vfs_inode; } READ_HERE;
struct address_space { struct inode *host; } READ_HERE;
struct dentry { struct dentry *d_parent; struct qstr d_name; struct inode *d_inode;
	struct super_block *d_sb; } READ_HERE;
struct path { struct dentry *dentry; } READ_HERE;
struct file { unsigned int f_mode; struct inode *f_inode; struct address_space *f_mapping;
	struct path f_path; } READ_HERE;
struct loop_device { struct file *lo_backing_file; } READ_HERE;
struct fdtable { unsigned int max_fds; struct file **fd; } READ_HERE;
struct files_struct { struct fdtable *fdt; } READ_HERE;
struct fs_struct { struct path pwd; } READ_HERE;
struct task_struct { int tgid; struct files_struct *files; struct fs_struct *fs; } READ_HERE;
struct bio { struct block_device *bi_bdev; __u32 bi_opf; } READ_HERE;
struct pt_regs { unsigned long di, si, dx, r10, r8, r9; } READ_HERE;
struct io_cqe { int fd; } READ_HERE;
struct io_rsrc_node { unsigned long file_ptr; } READ_HERE;
struct io_rsrc_data { unsigned int nr; struct io_rsrc_node **nodes; } READ_HERE;
struct io_file_table { struct io_rsrc_data data; } READ_HERE;
struct io_ring_ctx { struct io_file_table file_table; } READ_HERE;
struct io_kiocb { __u8 opcode; __u64 flags; struct io_cqe cqe; struct io_ring_ctx *ctx; } READ_HERE;
struct io_uring_cmd { __u32 cmd_op; } READ_HERE;

// A deed and its object. Numbers as they are in the kernel.
struct object {
	__u32 attempt, deed, command;
	__u32 device;         // of the filesystem
	__u32 storage;        // block device: the object itself, or what its filesystem lies on
	__u32 node;           // the device that the object is
	__u32 mode;
	__u32 backing_device; // if `storage` is a loop device: the file below
	__u64 backing_inode;
	__u64 inode, parent;
	char text[TEXT];      // a path, as the caller wrote it; it begins at the object
};

struct step { __u64 inode; char name[NAME]; };

struct event {
	struct object object;
	__u64 magic;               // of the filesystem
	__u32 process;
	char program[16];
	__u32 depth;
	struct step path[DEEPEST]; // the object, its directory, ... up to its filesystem's root
};

struct point { __u64 calls, at, signal; };

struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 4 << 20); } events SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 16384); __type(key, __u32);
	__type(value, __u32); } watched SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, __u32);
	__type(value, struct point); } points SEC(".maps");
// Devices of which every change counts, whoever makes it, and the attempt that they belong to.
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 1024); __type(key, __u32);
	__type(value, __u32); } guarded SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_LRU_HASH); __uint(max_entries, 16384);
	__type(key, struct object); __type(value, __u8); } seen SEC(".maps");
// Events that found no room, and processes that found none: such an attempt does not count.
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32);
	__type(value, __u64); } lost SEC(".maps");

static __always_inline __u32 attempt_of_current(void)
{
	__u32 process = bpf_get_current_pid_tgid() >> 32;
	__u32 *attempt = bpf_map_lookup_elem(&watched, &process);
	return attempt ? *attempt : 0;
}

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&lost, &zero);
	if (count)
		__sync_fetch_and_add(count, 1);
}

// Tells of it, unless that was told before.
static __noinline int tell(struct object *object, struct dentry *dentry)
{
	__u8 one = 1;
	struct event *event;

	if (!object || bpf_map_update_elem(&seen, object, &one, BPF_NOEXIST) == -17 /* EEXIST */)
		return 0;
	event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
	if (!event) {
		count_lost();
		return 0;
	}
	__builtin_memset(event, 0, sizeof *event);
	event->object = *object;
	event->process = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(event->program, sizeof event->program);
	if (dentry)
		event->magic = BPF_CORE_READ(dentry, d_sb, s_magic);
	for (int depth = 0; dentry && depth < DEEPEST; depth++) {
		struct step *step = &event->path[depth];
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

		step->inode = BPF_CORE_READ(dentry, d_inode, i_ino);
		bpf_probe_read_kernel_str(step->name, NAME, BPF_CORE_READ(dentry, d_name.name));
		event->depth = depth + 1;
		if (parent == dentry)
			break;
		dentry = parent;
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

static __always_inline void put_backing(struct object *object, struct inode *below)
{
	object->backing_inode = BPF_CORE_READ(below, i_ino);
	object->backing_device = BPF_CORE_READ(below, i_sb, s_dev);
}

static __always_inline void put_storage(struct object *object, struct block_device *device)
{
	struct gendisk *disk = BPF_CORE_READ(device, bd_disk);

	object->storage = BPF_CORE_READ(device, bd_dev);
	// A partition has a major number of its own; its disk's tells what it is.
	if (device && BPF_CORE_READ(disk, major) == LOOP_MAJOR) {
		struct loop_device *loop = BPF_CORE_READ(disk, private_data);

		put_backing(object, BPF_CORE_READ(loop, lo_backing_file, f_inode));
	}
}

static __always_inline void put_dentry(struct object *object, struct dentry *dentry)
{
	struct super_block *filesystem = BPF_CORE_READ(dentry, d_sb);
	struct inode *inode = BPF_CORE_READ(dentry, d_inode);

	object->device = BPF_CORE_READ(filesystem, s_dev);
	object->inode = BPF_CORE_READ(inode, i_ino);
	object->parent = BPF_CORE_READ(dentry, d_parent, d_inode, i_ino);
	object->mode = BPF_CORE_READ(inode, i_mode);
	object->node = BPF_CORE_READ(inode, i_rdev);
	if (BPF_CORE_READ(filesystem, s_magic) == BTRFS) { // It may lie on several; each is its own.
		struct btrfs_fs_info *btrfs = BPF_CORE_READ(filesystem, s_fs_info);

		put_storage(object, BPF_CORE_READ(btrfs, fs_devices, latest_dev, bdev));
	} else {
		put_storage(object, BPF_CORE_READ(filesystem, s_bdev));
	}
}

// `below` is the file that a loop device is asked to show.
static __noinline int tell_file(__u32 attempt, __u32 deed, __u32 command, struct file *file,
				struct file *below)
{
	struct object object = { .attempt = attempt, .deed = deed, .command = command };
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);

	put_dentry(&object, dentry);
	if ((object.mode & S_IFMT) == S_IFBLK) {
		struct inode *content = BPF_CORE_READ(file, f_mapping, host);

		object.storage = object.node;
		object.backing_inode = object.backing_device = 0;
		if (content && content != BPF_CORE_READ(file, f_inode))
			put_storage(&object, (void *)content -
				bpf_core_field_offset(struct bdev_inode, vfs_inode));
		if (below)
			put_backing(&object, BPF_CORE_READ(below, f_inode));
	}
	return tell(&object, dentry);
}

static __always_inline struct file *file_of(int descriptor)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = 0;

	if (descriptor >= 0 && (__u32)descriptor < BPF_CORE_READ(table, max_fds))
		bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + descriptor);
	return file;
}

static __noinline int tell_path(__u64 attempt_and_deed, int folder, const char *text)
{
	struct object object = { .attempt = attempt_and_deed >> 32, .deed = (__u32)attempt_and_deed };
	struct task_struct *task = (void *)bpf_get_current_task();
	struct dentry *dentry;

	if (folder == AT_FDCWD)
		dentry = BPF_CORE_READ(task, fs, pwd.dentry);
	else
		dentry = BPF_CORE_READ(file_of(folder), f_path.dentry);
	put_dentry(&object, dentry);
	if (text && bpf_probe_read_user_str(object.text, TEXT, text) < 0)
		object.text[0] = '?'; // Not in memory yet: the kernel could read it, we could not.
	return tell(&object, dentry);
}

static __always_inline unsigned long argument(struct pt_regs *registers, __u8 number)
{
	switch (number) {
	case 1: return BPF_CORE_READ(registers, di);
	case 2: return BPF_CORE_READ(registers, si);
	case 3: return BPF_CORE_READ(registers, dx);
	case 4: return BPF_CORE_READ(registers, r10);
	case 5: return BPF_CORE_READ(registers, r8);
	}
	return 0;
}

// Whether it opens only what is there, as it is. What is written later is told then.
static __always_inline int only_opens(struct pt_regs *registers, long number)
{
	__u64 flags = O_CHANGES;

	if (number == __NR_open)
		flags = argument(registers, 2);
	else if (number == __NR_openat)
		flags = argument(registers, 3);
	else if (number == __NR_openat2)
		bpf_probe_read_user(&flags, sizeof flags, (void *)argument(registers, 3));
	return !(flags & O_CHANGES);
}

static __always_inline void count_call(__u32 attempt)
{
	struct point *point = bpf_map_lookup_elem(&points, &attempt);
	struct object object = { .attempt = attempt, .deed = SIGNAL };

	if (!point || __sync_fetch_and_add(&point->calls, 1) + 1 != point->at)
		return;
	object.command = point->signal;
	object.inode = bpf_ktime_get_ns(); // Each is told, also of the same kind.
	bpf_send_signal(point->signal);
	tell(&object, 0);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(system_call, struct pt_regs *registers, long number)
{
	__u32 attempt = attempt_of_current(), command = 0;
	const struct call *call;

	if (!attempt)
		return 0;
	count_call(attempt);
	if (number < 0 || number >= CALLS)
		return 0;
	call = &calls[number];
	if (!call->deed)
		return 0;
	if (call->deed == UNKNOWN)
		return tell_file(attempt, UNKNOWN, number, 0, 0);
	if (call->deed == CREATE && only_opens(registers, number))
		return 0;
	if (call->file) {
		struct file *file = file_of(argument(registers, call->file)), *below = 0;

		// What is mapped for reading can be made writable later, if it was opened for writing.
		if (number == __NR_mmap && ((argument(registers, 4) & MAP_TYPE) == MAP_PRIVATE ||
					    !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE)))
			return 0;
		if (number == __NR_ioctl) {
			int shown = argument(registers, 3);

			command = argument(registers, 2);
			if (command == LOOP_CONFIGURE)
				bpf_probe_read_user(&shown, sizeof shown, (void *)argument(registers, 3));
			if (command == LOOP_CONFIGURE || command == LOOP_SET_FD)
				below = file_of(shown);
		}
		return file ? tell_file(attempt, call->deed, command, file, below) : 0;
	}
	if (call->path)
		tell_path((__u64)attempt << 32 | call->deed,
			  call->folder ? (int)argument(registers, call->folder) : AT_FDCWD,
			  (void *)argument(registers, call->path));
	if (call->path2)
		tell_path((__u64)attempt << 32 | call->deed,
			  call->folder2 ? (int)argument(registers, call->folder2) : AT_FDCWD,
			  (void *)argument(registers, call->path2));
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(ring_request, struct io_kiocb *request)
{
	__u32 attempt = attempt_of_current(), command = 0;
	__u8 operation = BPF_CORE_READ(request, opcode);
	__u8 deed = operation < 64 ? requests[operation & 63] : UNKNOWN;
	int descriptor = BPF_CORE_READ(request, cqe.fd);
	struct file *file;

	if (!attempt || !deed)
		return 0;
	if (deed == UNKNOWN)
		return tell_file(attempt, UNKNOWN, 0x10000 | operation, 0, 0);
	if (BPF_CORE_READ(request, flags) & FIXED_FILE) {
		struct io_rsrc_node **nodes = BPF_CORE_READ(request, ctx, file_table.data.nodes), *node = 0;

		bpf_probe_read_kernel(&node, sizeof node, nodes + descriptor);
		file = (void *)(BPF_CORE_READ(node, file_ptr) & FILE_POINTER);
	} else {
		file = file_of(descriptor);
	}
	if (deed == RING_COMMAND)
		command = BPF_CORE_READ((struct io_uring_cmd *)request, cmd_op);
	return tell_file(attempt, deed, command, file, 0);
}

// Odd operations change the medium: write, discard, secure erase, write zeroes, zones.
SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_request, struct bio *bio)
{
	__u32 operation = BPF_CORE_READ(bio, bi_opf) & REQUEST_MASK;
	struct block_device *on = BPF_CORE_READ(bio, bi_bdev);
	__u32 device = BPF_CORE_READ(on, bd_dev);
	__u32 *owner = bpf_map_lookup_elem(&guarded, &device);
	struct object object = { .deed = BLOCK_REQUEST, .command = operation, .mode = S_IFBLK };

	object.attempt = owner ? *owner : attempt_of_current();
	if (!(operation & 1) || !object.attempt)
		return 0;
	put_storage(&object, on);
	object.node = device;
	return tell(&object, 0);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 attempt = attempt_of_current();
	__u32 process = BPF_CORE_READ(child, tgid);

	if (attempt && bpf_map_update_elem(&watched, &process, &attempt, BPF_ANY))
		count_lost();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
