use super::{Archive, load_order};

const INDEX: &str = "\
kernel/a/ring.ko:
kernel/a/virtio.ko: kernel/a/ring.ko
kernel/fs/fuse.ko:
kernel/fs/virtiofs.ko: kernel/a/virtio.ko kernel/a/ring.ko kernel/fs/fuse.ko
kernel/fs/notfuse.ko:
";

#[test]
fn modules_come_behind_what_they_need_and_once() {
    let order = load_order(INDEX, &["fuse", "virtiofs", "virtio", "no-such-module"]);
    let names: Vec<&str> = order.iter().filter_map(|path| path.rsplit('/').next()).collect();
    assert_eq!(names, ["fuse.ko", "ring.ko", "virtio.ko", "virtiofs.ko"]);
}

#[test]
fn an_archive_has_a_header_a_name_and_content_for_each_file_each_padded() {
    let mut archive = Archive::default();
    archive.folder("bin");
    archive.file("bin/init", b"12345");
    let bytes = archive.finish();
    // A header has 110 bytes; with `bin` and its end 114, padded 116.
    assert_eq!(&bytes[..22], b"07070100000001000041ed");
    assert_eq!(&bytes[110..116], b"bin\0\0\0");
    let file = &bytes[116..];
    assert_eq!(&file[..6], b"070701");
    assert_eq!(&file[54..62], b"00000005", "its size");
    assert_eq!(&file[110..119], b"bin/init\0");
    assert_eq!(&file[120..128], b"12345\0\0\0");
    let end = &file[128..];
    assert_eq!(&end[110..121], b"TRAILER!!!\0");
    assert_eq!(bytes.len() % 4, 0);
}
