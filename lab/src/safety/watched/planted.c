// What no ordinary program does to order: writes past write(2). `planted DEED FOREIGN [OWN]`.
// Exits 0 if the deed was done.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define BLOCK_RING_DISCARD _IO(0x12, 0)

static char block[4096] __attribute__((aligned(4096))) = "planted";

// One request through a ring of its own; what came of it.
static int ring(struct io_uring_sqe request)
{
	struct io_uring_params params = {0};
	int ring = syscall(__NR_io_uring_setup, 4, &params);
	size_t entries = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	size_t results = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	int both = PROT_READ | PROT_WRITE;
	char *sq = mmap(0, entries, both, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	char *cq = mmap(0, results, both, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqe = mmap(0, sizeof *sqe, both, MAP_SHARED, ring, IORING_OFF_SQES);
	unsigned *tail = (unsigned *)(sq + params.sq_off.tail);

	if (ring < 0 || sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		return -1;
	*sqe = request;
	((unsigned *)(sq + params.sq_off.array))[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) != 1)
		return -1;
	return ((struct io_uring_cqe *)(cq + params.cq_off.cqes))->res;
}

int main(int count, char **words)
{
	const char *deed = count > 2 ? words[1] : "";
	int foreign = count > 2 ? open(words[2], O_RDWR) : -1;
	int own = count > 3 ? open(words[3], O_RDWR) : -1;
	struct io_uring_sqe request = { .fd = foreign };
	int pipes[2];

	if (foreign < 0)
		return 2;
	if (!strcmp(deed, "ring-write")) {
		request.opcode = IORING_OP_WRITE;
		request.addr = (uintptr_t)block;
		request.len = 7;
		return ring(request) != 7;
	}
	if (!strcmp(deed, "ring-discard")) {
		request.opcode = IORING_OP_URING_CMD;
		request.cmd_op = BLOCK_RING_DISCARD;
		request.addr = 0;
		request.addr3 = 4096;
		return ring(request) != 0;
	}
	if (!strcmp(deed, "store")) {
		char *mapped = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, foreign, 0);
		if (mapped == MAP_FAILED)
			return 2;
		mapped[0] = 'p';
		return 0;
	}
	if (!strcmp(deed, "late-store")) { // Mapped for reading, made writable later.
		char *mapped = mmap(0, 4096, PROT_READ, MAP_SHARED, foreign, 0);
		if (mapped == MAP_FAILED || mprotect(mapped, 4096, PROT_READ | PROT_WRITE))
			return 2;
		mapped[0] = 'p';
		return 0;
	}
	if (!strcmp(deed, "copy-range"))
		return copy_file_range(own, 0, foreign, 0, 4, 0) != 4;
	if (!strcmp(deed, "splice"))
		return pipe(pipes) || write(pipes[1], block, 4) != 4 ||
		       splice(pipes[0], 0, foreign, 0, 4, 0) != 4;
	if (!strcmp(deed, "xattr"))
		return fsetxattr(foreign, "trusted.planted", "1", 1, 0) != 0;
	return 2;
}
