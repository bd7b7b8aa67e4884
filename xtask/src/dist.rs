//! Step `dist`: writes a release into `target/dist`, or checks the one that is there.
//!
//! An archive and a Debian package of statically linked programs, with what belongs to them: man
//! pages, completions, licences of dependencies and bills of materials. The same commit gives the
//! same bytes: all times are that of the commit or `SOURCE_DATE_EPOCH`, and no path of the machine
//! is in a program.

mod check;
mod documents;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;

use crate::Repository;
use crate::process::{output, run_well};
use crate::setup::is_there;
use crate::steps::timed;

/// The workspace has one version.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What is handed out. The package and the archive are called as the first.
const PROGRAMS: [Shipped; 2] = [
    Shipped { name: "trimbench", section: 1, example: None },
    Shipped { name: "trimpace", section: 8, example: Some("documents") },
];
/// Each program is to be smaller.
const LARGEST: usize = 20_000_000;
/// The programs of others, each with what `cargo install` is told to build it.
const TOOLS: [(&str, &[&str]); 3] =
    [("cargo-about", &["--features", "cli"]), ("cargo-cyclonedx", &[]), ("cargo-deb", &[])];

/// What to make.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct DistOptions {
    /// Build for this platform; skipped if its standard library is not installed
    #[arg(long, value_enum, default_value_t)]
    pub target: Platform,
    /// Write nothing; install what is in `target/dist` in a fresh Debian, use it and remove it
    /// (`x86_64` only, as root)
    #[arg(long, conflicts_with = "target")]
    pub check: bool,
}

/// What releases are built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// PCs
    #[default]
    #[value(name = "x86_64-unknown-linux-gnu")]
    X86_64,
    /// 64-bit ARM; needs a C compiler and linker for it, `aarch64-linux-gnu-gcc`
    #[value(name = "aarch64-unknown-linux-gnu")]
    Aarch64,
}

impl Platform {
    fn triple(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64-unknown-linux-gnu",
            Self::Aarch64 => "aarch64-unknown-linux-gnu",
        }
    }

    fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Name of the archive, and of the folder in it.
    fn archive(self) -> String {
        let (processor, _) = self.triple().split_once('-').expect("a triple has hyphens");
        format!("trimbench-{VERSION}-{processor}-linux")
    }

    /// Name of the Debian package.
    fn package(self) -> String {
        format!("trimbench_{VERSION}-1_{}.deb", self.debian())
    }
}

/// A program of the release.
#[derive(Clone, Copy, Debug)]
struct Shipped {
    /// Its name, and that of its package.
    name: &'static str,
    /// The section of its man pages: 1 for everybody's commands, 8 for those of root.
    section: u8,
    /// The example of its package that prints its man pages and completions; `None` where the
    /// program itself does.
    example: Option<&'static str>,
}

/// Where everything is.
#[derive(Debug)]
struct Release<'a> {
    repository: &'a Repository,
    platform: Platform,
    /// What is handed out.
    folder: PathBuf,
    /// Seconds since 1970: the time of every file.
    epoch: String,
}

/// Writes a release or, with `check`, tries the one that is there; whether all is well.
pub fn run(repository: &Repository, options: &DistOptions) -> Result<bool> {
    let release = Release::new(repository, options.target)?;
    if options.check {
        return check::check(&release);
    }
    for platform in [Platform::default(), options.target] {
        if !has_standard_library(platform)? {
            let name = platform.triple();
            println!("SKIP dist for {name}: no standard library: `rustup target add {name}`");
            return Ok(true);
        }
    }
    timed("tools", || install_tools(repository)).0?;
    timed("programs", || release.build()).0?;
    timed("documents", || documents::write(&release)).0?;
    timed("archive", || release.archive()).0?;
    timed("Debian package", || release.debian_package()).0?;
    release.checksums()?;
    Ok(true)
}

impl<'a> Release<'a> {
    fn new(repository: &'a Repository, platform: Platform) -> Result<Self> {
        let folder = repository.target().join("dist");
        fs::create_dir_all(&folder).with_context(|| format!("create {}", folder.display()))?;
        let epoch = match std::env::var_os("SOURCE_DATE_EPOCH") {
            Some(epoch) => epoch.to_string_lossy().into_owned(),
            None => output(&mut repository.command("git", &["log", "-1", "--format=%ct"]))?,
        };
        Ok(Self { repository, platform, folder, epoch: epoch.trim().to_owned() })
    }

    /// Not `target/dist`: cargo's own folder for the profile `dist` would be in it.
    fn build_folder(&self) -> PathBuf {
        self.repository.target().join("dist-build")
    }

    fn products(&self, platform: Platform) -> PathBuf {
        self.build_folder().join(platform.triple()).join("dist")
    }

    /// A program, as built for `platform`.
    fn program(&self, program: Shipped, platform: Platform) -> PathBuf {
        self.products(platform).join(program.name)
    }

    /// What prints a program's man pages and completions on this machine.
    fn printer(&self, program: Shipped) -> PathBuf {
        match program.example {
            Some(example) => self.products(Platform::default()).join("examples").join(example),
            None => self.program(program, Platform::default()),
        }
    }

    /// The folder with what goes into the archive; beside the programs, where cargo-deb looks.
    fn contents(&self) -> PathBuf {
        self.products(self.platform).join("contents")
    }

    /// A subcommand of cargo, by us or by others.
    fn cargo(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.repository.command("cargo", arguments);
        let mut paths = vec![tools(self.repository).join("bin")];
        paths.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        command.env("PATH", std::env::join_paths(paths).context("put tools into PATH")?);
        command.env("CARGO_TARGET_DIR", self.build_folder());
        command.env("SOURCE_DATE_EPOCH", &self.epoch);
        Ok(command)
    }

    /// Also for this machine, on which man pages and completions are printed.
    fn build(&self) -> Result<()> {
        let mut platforms = vec![Platform::default(), self.platform];
        platforms.dedup();
        for program in PROGRAMS {
            for platform in &platforms {
                self.build_one(program, *platform, &[])?;
            }
            if let Some(example) = program.example {
                self.build_one(program, Platform::default(), &["--example", example])?;
            }
            let bytes = fs::read(self.program(program, self.platform))?;
            let (name, size) = (program.name, bytes.len());
            ensure!(size < LARGEST, "`{name}` has {size} bytes; {LARGEST} are too many");
            for path in self.private_paths()? {
                let path_bytes = path.as_os_str().as_encoded_bytes();
                let is_there = bytes.windows(path_bytes.len()).any(|window| window == path_bytes);
                ensure!(!is_there, "`{name}` holds the path {}", path.display());
            }
        }
        Ok(())
    }

    /// Builds the program of a package or, where `which` says so, its example. One package at a
    /// time: built together, each would have the features that any of them asks for.
    fn build_one(&self, program: Shipped, platform: Platform, which: &[&str]) -> Result<()> {
        let arguments = ["build", "--locked", "--profile", "dist", "--package", program.name];
        let mut cargo = self.cargo(&arguments)?;
        // The flags are for the program only and not for procedural macros, which cannot be
        // static, because `--target` is given.
        cargo.args(["--target", platform.triple()]).args(which);
        cargo.env("CARGO_ENCODED_RUSTFLAGS", self.flags()?);
        let root = self.repository.root().display();
        cargo.env("CFLAGS", format!("-ffile-prefix-map={root}=trimbench"));
        cargo.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc");
        run_well(&mut cargo, None).map(drop)
    }

    /// Where the sources are: of dependencies, and ours.
    fn private_paths(&self) -> Result<[PathBuf; 2]> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let home = home.context("neither CARGO_HOME nor HOME is set")?;
        Ok([home, self.repository.root().to_owned()])
    }

    fn flags(&self) -> Result<String> {
        let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
        for (path, name) in self.private_paths()?.iter().zip(["cargo", "trimbench"]) {
            flags.push(format!("--remap-path-prefix={}={name}", path.display()));
        }
        Ok(flags.join("\x1f"))
    }

    fn archive(&self) -> Result<()> {
        let path = self.folder.join(self.platform.archive() + ".tar.gz");
        archive(&self.contents(), &self.platform.archive(), &self.epoch, &path)
    }

    fn debian_package(&self) -> Result<()> {
        let path = self.folder.join(self.platform.package());
        let mut cargo = self.cargo(&["deb", "--package", "trimbench", "--profile", "dist"])?;
        cargo.args(["--no-build", "--no-strip", "--locked", "--quiet"]);
        cargo.args(["--target", self.platform.triple(), "--output"]).arg(path);
        run_well(&mut cargo, None).map(drop)
    }

    /// Prints what there is, with sizes and checksums, and writes the checksums.
    fn checksums(&self) -> Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name =
                path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
            if name.contains(VERSION) {
                names.push(name);
            } else {
                fs::remove_file(&path).with_context(|| format!("remove {}", path.display()))?;
            }
        }
        names.sort();
        let sums = output(Command::new("sha256sum").args(&names).current_dir(&self.folder))?;
        fs::write(self.folder.join("SHA256SUMS"), &sums)?;
        println!("{}:", self.repository.relative(&self.folder));
        for program in PROGRAMS {
            let size = fs::metadata(self.program(program, self.platform))?.len();
            println!("{size:>9} bytes  {}, in both", program.name);
        }
        for (name, sum) in names.iter().zip(sums.lines()) {
            let size = fs::metadata(self.folder.join(name))?.len();
            println!("{size:>9} bytes  {sum}");
        }
        Ok(())
    }
}

/// Packs a folder, as `name`, with nothing in it that depends on when and by whom it was written.
fn archive(folder: &Path, name: &str, epoch: &str, path: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n", "--transform"]);
    tar.args([format!("s,^[.],{name},"), format!("--mtime=@{epoch}"), "--create".to_owned()]);
    run_well(tar.arg("--file").arg(path).arg("--directory").arg(folder).arg("."), None).map(drop)
}

fn tools(repository: &Repository) -> PathBuf {
    repository.target().join("tools")
}

/// Builds what is neither in the search path nor was built before.
fn install_tools(repository: &Repository) -> Result<()> {
    for (name, arguments) in TOOLS {
        if !is_there(name) && !tools(repository).join("bin").join(name).exists() {
            let mut cargo = repository.command("cargo", &["install", "--quiet", "--locked"]);
            cargo.arg("--root").arg(tools(repository)).args(arguments).arg(name);
            run_well(&mut cargo, None)?;
        }
    }
    Ok(())
}

fn has_standard_library(platform: Platform) -> Result<bool> {
    let arguments = ["--print", "target-libdir", "--target", platform.triple()];
    Ok(Path::new(output(Command::new("rustc").args(arguments))?.trim()).exists())
}

#[cfg(test)]
mod tests;
