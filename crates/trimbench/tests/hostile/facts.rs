//! Facts that cannot be read without privileges.
//!
//! The program runs as nobody, on targets that everybody may write and that root uses.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use tests::LoopDevice;
use tests::Need::{self, Loop, Program, Root};
use tests::machine::apart_from_mounts;

use super::{PROGRAM, complaint, folder, overwriting, quick, refused, text};

const NOBODY: [Need; 2] = [Root, Program("setpriv")];
const NOBODY_LOOP: [Need; 3] = [Root, Program("setpriv"), Loop];
const UNSHARE: [Need; 3] = [Root, Program("setpriv"), Program("unshare")];

/// An image that everybody may write, and a copy of the program that everybody may run.
struct Scene {
    program: PathBuf,
    image: PathBuf,
    folder: TempDir,
}

/// A loop device that everybody may write, until it is dropped.
struct Everybodys(LoopDevice);

impl Scene {
    fn new() -> Self {
        let (folder, path) = folder();
        let (program, image) = (path.join("trimbench"), path.join("image"));
        fs::copy(PROGRAM, &program).expect("the program was built");
        let file = File::create_new(&image).expect("the folder is ours");
        file.set_len(16 << 20).expect("a sparse file");
        for (path, mode) in [(&path, 0o777), (&program, 0o755), (&image, 0o666)] {
            set_mode(path, mode);
        }
        Self { program, image, folder }
    }

    /// Runs the program as nobody, after `script` in a mount namespace of its own.
    fn as_nobody(&self, target: &Path, script: &str) -> Output {
        let nobody = "exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
        let mut command = apart_from_mounts();
        command.args(["sh", "-c", &format!("{script} {nobody}"), "sh"]);
        command.arg(&self.program).args(quick(&overwriting(target, &self.image)));
        command.current_dir(self.folder.path()).output().expect("util-linux is installed")
    }

    fn is_refused(&self, output: &Output) {
        let content = fs::read(&self.image).expect("it is ours");
        assert!(content.iter().all(|byte| *byte == 0), "overwritten: {}", complaint(output));
        refused(output, "cannot make sure that");
    }
}

impl Everybodys {
    fn new(image: &Path) -> Self {
        let device = LoopDevice::on(image);
        set_mode(Path::new(device.node()), 0o666);
        Self(device)
    }
}

impl Drop for Everybodys {
    fn drop(&mut self) {
        set_mode(Path::new(self.0.node()), 0o660);
    }
}

fn open(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path);
    file.unwrap_or_else(|error| panic!("{}: {error}", text(path)))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn an_image_that_root_has_open_is_refused_to_another_user() {
    machine!(beside, &NOBODY);
    let scene = Scene::new();
    let _held = open(&scene.image);
    scene.is_refused(&scene.as_nobody(&scene.image, ""));
}

#[test]
fn an_image_of_root_is_refused_to_who_cannot_see_its_users() {
    machine!(beside, &NOBODY);
    let scene = Scene::new();
    scene.is_refused(&scene.as_nobody(&scene.image, ""));
}

#[test]
fn an_image_whose_users_hidepid_hides_is_refused() {
    machine!(beside, &UNSHARE);
    let scene = Scene::new();
    let _held = open(&scene.image);
    let hidden = "mount -t proc -o hidepid=invisible proc /proc &&";
    scene.is_refused(&scene.as_nobody(&scene.image, hidden));
}

#[test]
fn an_image_on_a_loop_device_that_may_not_be_asked_is_refused() {
    machine!(beside, &NOBODY_LOOP);
    let scene = Scene::new();
    // The name that the kernel remembers is gone.
    let second = scene.image.with_file_name("second");
    fs::hard_link(&scene.image, &second).expect("the folder is ours");
    let _device = LoopDevice::on(&second);
    fs::remove_file(&second).expect("it is ours");
    scene.is_refused(&scene.as_nobody(&scene.image, ""));
}

#[test]
fn a_device_that_root_writes_is_refused_to_another_user() {
    machine!(beside, &NOBODY_LOOP);
    let scene = Scene::new();
    let device = Everybodys::new(&scene.image);
    let _held = open(Path::new(device.0.node()));
    scene.is_refused(&scene.as_nobody(Path::new(device.0.node()), ""));
}

#[test]
fn a_backing_file_that_root_writes_is_refused_to_another_user() {
    machine!(beside, &NOBODY_LOOP);
    let scene = Scene::new();
    let device = Everybodys::new(&scene.image);
    let _held = open(&scene.image);
    scene.is_refused(&scene.as_nobody(Path::new(device.0.node()), ""));
}
