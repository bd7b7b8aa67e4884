//! Turns a drawn attempt into a scene: the arguments of the program, what it may change, and what
//! is exchanged while it runs.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use xtask::process;

use super::draw::{Draw, End, Form, Kind, Swap, Trap};
use super::judge::{Below, Bounds};
use super::scene::{self, Scene};

/// btrfs and XFS take no less.
const FILESYSTEM_BYTES: u64 = 320 << 20;
/// Names of the run's own files, under which links are laid.
const OUTPUTS: [&str; 6] =
    [".run.json.partial", "run.json", "host.json", "report.html", "steps.ndjson", "page.html"];

/// The name of an output directory that was moved away.
const MOVED: &[u8] = b"moved";

/// What all scenes are given copies of.
#[derive(Debug)]
pub(super) struct Supplies {
    pub program: PathBuf,
    /// The directory of a finished run.
    pub record: PathBuf,
    /// A trace.
    pub trace: PathBuf,
}

/// A scene that is ready.
pub(super) struct Furnished {
    pub command: Command,
    pub bounds: Bounds,
    /// What was named as target: a path without links.
    target: PathBuf,
    /// What has a sentry.
    pub guarded: Vec<PathBuf>,
    /// The loop device that shows it.
    node: Option<PathBuf>,
    is_partition: bool,
    /// The target as it was written.
    written: PathBuf,
    output: PathBuf,
}

/// Makes what a draw needs.
pub(super) fn furnish(draw: &Draw, scene: &mut Scene, supplies: &Supplies) -> Result<Furnished> {
    let mut bounds = Bounds::of(&scene.work);
    let temporary = scene.work.join("temporary");
    fs::create_dir(&temporary)?;
    bounds.permit(&temporary, Below::All);
    // Where an output directory is put when it is exchanged: it stays the run's.
    bounds.permit(&scene.work, Below::Name(MOVED.to_vec()));
    let mut command = Command::new(&supplies.program);
    command.current_dir(&scene.work).env("TMPDIR", &temporary).env("LC_ALL", "C.UTF-8");
    let name = OsStr::from_bytes(draw.name);
    let target = scene.work.join("in").join(name);
    fs::create_dir(scene.work.join("in"))?;
    let output = scene.work.join("out");
    let mut new = Furnished {
        command,
        bounds,
        written: target.clone(),
        target,
        guarded: Vec::new(),
        node: None,
        is_partition: draw.kind == Kind::Partition,
        output,
    };
    scene.foreign_objects().into_iter().for_each(|path| new.guard(path));
    if draw.has_foreign_device() {
        let device = scene.attach(&scene.foreign.join("image"))?;
        new.bounds.forbid(&device);
    }
    match draw.kind {
        Kind::Report => new.report(draw, scene, supplies)?,
        Kind::Convert | Kind::Generate | Kind::Record => new.trace(draw, scene, supplies)?,
        _ => new.run(draw, scene)?,
    }
    Ok(new)
}

impl Furnished {
    /// What must not change, and is watched by fanotify.
    fn guard(&mut self, path: PathBuf) {
        self.bounds.forbid(&path);
        self.guarded.push(path);
    }

    /// `trimbench run` on something.
    fn run(&mut self, draw: &Draw, scene: &mut Scene) -> Result<()> {
        let is_large = matches!(draw.kind, Kind::MadeOnImage("xfs" | "btrfs"));
        match draw.kind {
            Kind::Emulated => {}
            Kind::Directory => self.directory(draw)?,
            _ if is_large => scene::image_of(&self.target, FILESYSTEM_BYTES)?,
            Kind::MadeOnImage(_) | Kind::MadeOnLoop(_) => {
                scene::image_of(&self.target, FILESYSTEM_BYTES / 2)?;
            }
            _ => scene::image(&self.target)?,
        }
        self.bound_target(draw, scene)?;
        self.trap(draw, scene)?;
        self.output_trap(draw, scene)?;
        let (prefix, words) = words(draw);
        let mut target = OsString::from(prefix);
        if draw.kind != Kind::Emulated {
            target.push(&self.written);
        }
        // Others that are watched are load, too: it is not looked for.
        self.command.arg("run").args(["--quiet-wait", "0s"]);
        self.command.args(words).arg("--target").arg(target);
        if self.target.is_file() && draw.trap != Trap::NotNamed {
            let wrong = (draw.trap == Trap::WrongName).then(|| scene.foreign.join("image"));
            self.command.arg("--destroy").arg(wrong.unwrap_or_else(|| self.target.clone()));
        }
        if draw.trap == Trap::ConfirmedSignature {
            for kind in ["ext4", "xfs", "btrfs"] {
                self.command.args(["--overwrite-signature", kind]);
            }
        }
        if draw.method & 1 == 0 {
            self.command.arg("--no-report");
        }
        self.command.arg("--output").arg(&self.output);
        Ok(())
    }

    /// A directory with what is not the run's in it, and another like it.
    fn directory(&mut self, draw: &Draw) -> Result<()> {
        for folder in [self.target.clone(), self.target.with_file_name("other")] {
            fs::create_dir(&folder)?;
            fs::write(folder.join("letter"), "not yours\n")?;
            self.bounds.permit(&folder, Below::Prefix(b".trimbench-".to_vec()));
            self.guard(folder.join("letter"));
            if draw.trap == Trap::Workspaces {
                let fake = folder.join(".trimbench-0123456789abcdef");
                fs::create_dir(&fake)?;
                fs::write(fake.join("letter"), "not yours\n")?;
                self.guard(fake.join("letter"));
                self.guard(fake);
                symlink("../../foreign/directory", folder.join(".trimbench-fedcba9876543210"))?;
            }
        }
        Ok(())
    }

    /// Attaches the target if need be, permits it, and writes it as drawn.
    fn bound_target(&mut self, draw: &Draw, scene: &mut Scene) -> Result<()> {
        let mut shown = self.target.clone();
        match draw.kind {
            Kind::Loop | Kind::MadeOnLoop(_) => {
                shown = scene.attach(&self.target)?;
                self.node = Some(shown.clone());
                self.bounds.name(&self.target);
            }
            Kind::Partition => {
                let disk = scene.attach(&self.target)?;
                shown = scene.partition(&disk)?;
                self.bounds.name(&shown);
                self.node = Some(disk);
            }
            Kind::Image | Kind::MadeOnImage(_) => self.bounds.name(&self.target),
            _ => {}
        }
        self.written = Self::write(draw.form, &shown, scene)?;
        Ok(())
    }

    /// A path to the same, in another form.
    fn write(form: Form, path: &Path, scene: &mut Scene) -> Result<PathBuf> {
        let name = path.file_name().context("a target has a name")?;
        let is_own = path.starts_with(&scene.work);
        let folder = path.parent().context("a target is in a folder")?.to_owned();
        Ok(match form {
            Form::Link => {
                let link = scene.work.join("link");
                symlink(path, &link)?;
                link
            }
            Form::LinkedFolder if is_own => {
                symlink(&folder, scene.path().join("aside"))?;
                scene.path().join("aside").join(name)
            }
            Form::Bound if is_own => {
                let bound = scene.path().join("bound");
                scene.bind(&folder, &bound)?;
                bound.join(name)
            }
            Form::DotDot if is_own => folder.join("..").join("in").join(name),
            Form::Relative if is_own => Path::new("./in").join(name),
            _ => path.to_owned(),
        })
    }

    /// Lays a trap at the target.
    fn trap(&mut self, draw: &Draw, scene: &mut Scene) -> Result<()> {
        let is_file = self.target.is_file();
        match draw.trap {
            Trap::Signature | Trap::ConfirmedSignature if is_file => scene::sign(&self.target)?,
            Trap::HardLink if is_file => fs::hard_link(&self.target, scene.work.join("again"))?,
            Trap::Mounted if self.node.is_some() && draw.kind != Kind::Partition => {
                let node = self.node.clone().context("it was just looked at")?;
                scene.mount(&node, &scene.work.join("mounted"))?;
            }
            Trap::Attached if is_file => drop(scene.attach(&self.target)?),
            Trap::ReadOnly if self.target.exists() => {
                fs::set_permissions(&self.target, fs::Permissions::from_mode(0o444))?;
            }
            Trap::OutputInTarget if draw.kind == Kind::Directory => {
                self.output = self.target.join("out");
                self.permit_output_elsewhere(draw)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Where the name of an output directory within the target leads when the target is exchanged.
    fn permit_output_elsewhere(&mut self, draw: &Draw) -> Result<()> {
        let End::Swapped(_, first, _, second) = draw.end else { return Ok(()) };
        if [first, second].contains(&Swap::Target) {
            self.permit_file(&self.target.with_file_name("other").join("out"))?;
        }
        if [first, second].contains(&Swap::Remove) {
            // It is made again, with the directories above it.
            let folder = self.target.parent().context("a target is in a folder")?;
            self.bounds.permit(folder, Below::Name(draw.name.to_owned()));
        }
        Ok(())
    }

    /// Lays a trap at the output directory.
    fn output_trap(&mut self, draw: &Draw, scene: &Scene) -> Result<()> {
        match draw.trap {
            Trap::OutputHasLinks => {
                fs::create_dir(&self.output)?;
                lay_links(&self.output, scene)?;
            }
            Trap::OutputIsLink => {
                let real = scene.work.join("real");
                fs::create_dir(&real)?;
                symlink(&real, &self.output)?;
                self.bounds.permit(&real, Below::All);
            }
            Trap::OutputLeadsAway => symlink(scene.foreign.join("directory"), &self.output)?,
            _ => {}
        }
        self.permit_file(&self.output.clone())
    }

    /// A file or directory of this name may be made, and drafts of it.
    fn permit_file(&mut self, path: &Path) -> Result<()> {
        let folder = path.parent().context("an output is in a folder")?;
        let name = path.file_name().context("an output has a name")?.as_bytes();
        self.bounds.permit(folder, Below::Name(name.to_owned()));
        self.bounds.permit(folder, Below::Prefix([b".", name, b"."].concat()));
        Ok(())
    }

    /// `trimbench report` of a run, with outputs under names that may be taken.
    fn report(&mut self, draw: &Draw, scene: &Scene, supplies: &Supplies) -> Result<()> {
        let record = scene.work.join("record");
        fs::create_dir(&record)?;
        for name in ["run.json", "host.json"] {
            fs::copy(supplies.record.join(name), record.join(name))?;
            self.guard(record.join(name));
        }
        let page = match draw.trap {
            Trap::HardLink => record.join("run.json"),
            Trap::WrongName => scene.foreign.join("notes"),
            Trap::OutputHasLinks => record.join("page.html"),
            _ => scene.work.join(OsStr::from_bytes(draw.name)),
        };
        if draw.trap == Trap::OutputHasLinks {
            lay_links(&record, scene)?;
        }
        let tables = scene.work.join("tables");
        if draw.trap == Trap::OutputLeadsAway {
            fs::create_dir(&tables)?;
            fs::write(tables.join("figures.csv"), "not yours\n")?;
            self.guard(tables.join("figures.csv"));
            symlink(scene.foreign.join("notes"), tables.join("steps.csv"))?;
        }
        self.permit_file(&page)?;
        self.permit_file(&tables)?;
        self.target.clone_from(&page);
        self.command.arg("report").arg(&record);
        match draw.method % 3 {
            0 => self.command.arg("--html").arg(page),
            1 => self.command.arg("--csv").arg(tables),
            _ => self.command.arg("--figures").arg(tables),
        };
        Ok(())
    }

    /// `trimbench trace ...` into a file under a name that may be taken.
    fn trace(&mut self, draw: &Draw, scene: &mut Scene, supplies: &Supplies) -> Result<()> {
        let input = scene.work.join("trace");
        fs::copy(&supplies.trace, &input)?;
        self.bounds.forbid(&input);
        let out = self.target.clone();
        match draw.trap {
            Trap::HardLink => fs::hard_link(&input, &out)?,
            Trap::OutputHasLinks => symlink(scene.foreign.join("notes"), &out)?,
            Trap::OutputIsLink => symlink(&input, &out)?,
            _ => {}
        }
        self.permit_file(&out)?;
        let (options, source): (&[&str], _) = match draw.kind {
            Kind::Convert => (&["convert"], Some(input)),
            Kind::Generate => (&["generate"], None),
            _ => {
                let image = scene.work.join("recorded");
                scene::image(&image)?;
                (&["record", "--time", "100ms"], Some(scene.attach(&image)?))
            }
        };
        self.written = Self::write(draw.form, &out, scene)?;
        self.permit_file(&self.written.clone())?;
        self.command.arg("trace").args(options).args(source).arg("--").arg(&self.written);
        if self.command.get_args().nth(1) == Some(OsStr::new("generate")) {
            self.command = command_with(&self.command, &["--commands", "2000"]);
        }
        self.command = command_with(&self.command, &["--to", "iolog"]);
        if draw.method & 1 == 0 {
            self.command = command_with(&self.command, &["--overwrite"]);
        }
        Ok(())
    }

    /// Exchanges something while the program is stopped. What is not there to be exchanged stays.
    pub(super) fn swap(&self, swap: Swap, scene: &Scene) {
        // Whether it works is luck: the program may have the thing, or have removed it.
        let _ = self.try_swap(swap, scene);
    }

    fn try_swap(&self, swap: Swap, scene: &Scene) -> Result<()> {
        let image = scene.foreign.join("image");
        // What is made elsewhere than in a directory of a run is a file: what its directory's name
        // leads to is what was named.
        let is_run = self.command.get_args().next() == Some(OsStr::new("run"));
        match swap {
            Swap::Target | Swap::Output | Swap::Links | Swap::Cover if !is_run => {
                let _ = fs::remove_file(&self.target);
                symlink(scene.foreign.join("notes"), &self.target)?;
            }
            Swap::Target if self.target.is_dir() => {
                fs::rename(&self.target, self.target.with_file_name("moved"))?;
                symlink("other", &self.target)?;
            }
            Swap::Target if self.written.is_symlink() => {
                fs::remove_file(&self.written)?;
                symlink(&image, &self.written)?;
            }
            // A partition is named by its disk's file: with that exchanged as well, it is this one.
            Swap::Target if self.is_partition => {}
            Swap::Target => fs::rename(&image, &self.target)?,
            Swap::Device => {
                let node = self.node.as_ref().context("there is none")?;
                process::output(Command::new("losetup").arg("--detach").arg(node))?;
                process::output(Command::new("losetup").arg("--partscan").arg(node).arg(&image))?;
            }
            Swap::Output => {
                fs::rename(&self.output, scene.work.join(OsStr::from_bytes(MOVED)))?;
                symlink(scene.foreign.join("directory"), &self.output)?;
            }
            Swap::Links => lay_links(&self.output, scene)?,
            Swap::Cover => {
                let mut mount = Command::new("mount");
                mount.args(["--bind", "--"]).arg(scene.foreign.join("directory"));
                process::output(mount.arg(&self.output))?;
            }
            Swap::Truncate => drop(fs::File::create(&self.target)?),
            // Not deleted: what is made next might get its inode.
            Swap::Remove => fs::rename(&self.target, scene.work.join("removed"))?,
        }
        Ok(())
    }

    /// What an exchange left mounted.
    pub(super) fn uncover(&self) {
        while process::quietly(Command::new("umount").arg("--").arg(&self.output)) {}
    }
}

/// Links to what is foreign, under the names of what a run writes.
fn lay_links(folder: &Path, scene: &Scene) -> Result<()> {
    for name in OUTPUTS {
        let _ = fs::remove_file(folder.join(name));
        symlink(scene.foreign.join("notes"), folder.join(name))?;
    }
    Ok(())
}

/// The same with options before what follows `--`, or at the end.
fn command_with(command: &Command, options: &[&str]) -> Command {
    let words: Vec<&OsStr> = command.get_args().collect();
    let at = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let mut new = Command::new(command.get_program());
    new.args(&words[..at]).args(options).args(&words[at..]);
    if let Some(folder) = command.get_current_dir() {
        new.current_dir(folder);
    }
    new.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    new
}

/// What stands before the target, and the method with its options.
fn words(draw: &Draw) -> (String, Vec<&'static str>) {
    let on_device: [&[&str]; 3] = [
        &["steady-state", "--set", "span=4MiB", "--set", "rounds-max=5"],
        &["recovery", "--set", "span=4MiB", "--set", "torture=10%", "--set", "rest=0ms"],
        &["trim-integrity", "--set", "region=1MiB", "--set", "guard=4KiB", "--set", "piece=4KiB"],
    ];
    let on_files: Vec<&str> =
        "postmark --set number=10 --set transactions=10 --set repetitions=1".split(' ').collect();
    let once: Vec<&str> = "--set mounts=discard --set bufferings=one".split(' ').collect();
    match draw.kind {
        Kind::Directory => (String::new(), on_files),
        Kind::MadeOnImage(kind) | Kind::MadeOnLoop(kind) => {
            (format!("{kind}:"), [on_files, once].concat())
        }
        kind => {
            let method = usize::try_from(draw.method % 3).expect("below three");
            let emulated = "sim:generic-sata-tlc,capacity=256MiB";
            let prefix = if kind == Kind::Emulated { emulated } else { "" };
            (prefix.to_owned(), on_device[method].to_vec())
        }
    }
}
