//! Public structures, fetched and compiled: offset and size of each member.
//!
//! Sources are those of Debian's next release, because older ones lack fields; where apt knows no
//! such index, an index of our own in the entry's folder is made, from the machine's own mirror.
//! Definitions are cut out of the files by name, so nothing else of them has to compile.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use xtask::process::{output, run_well};

use super::members::{ARRAYS, Array, IDS, STATISTICS, Structure, structures};
use crate::lab::Lab;

/// The release of Debian that has the sources.
const RELEASE: &str = "trixie";

/// What was compiled.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    /// Fields by page, and version where a page has several layouts.
    pub(super) pages: BTreeMap<String, Vec<PublicField>>,
    /// Ids of attributes, and the layout that they belong to.
    pub(super) ids: Vec<(String, u8)>,
}

/// A member of a public structure, under our key.
#[derive(Debug)]
pub(super) struct PublicField {
    pub(super) key: String,
    pub(super) at: usize,
    pub(super) width: usize,
}

/// Fetches, compiles, runs.
pub(super) fn compile(lab: &Lab<'_>) -> Result<Compiled> {
    let folder = lab.folder();
    let sources = Sources::fetch(lab)?;
    let (code, binary) = (folder.join("offsets.c"), folder.join("offsets"));
    let mut compiled = Compiled::default();
    for program in programs(&sources)? {
        fs::write(&code, program)?;
        let mut cc = Command::new("cc");
        run_well(cc.args(["-w", "-o"]).args([&binary, &code]), Some(lab.deadline()))?;
        for line in output(&mut Command::new(&binary))?.lines() {
            compiled.keep(line)?;
        }
    }
    Ok(compiled)
}

impl Compiled {
    /// Keeps a line that a compiled program printed.
    fn keep(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["field", page, key, at, width] => {
                let field = PublicField { key: key.into(), at: at.parse()?, width: width.parse()? };
                self.pages.entry(page.to_owned()).or_default().push(field);
            }
            ["id", page, id] => self.ids.push((page.to_owned(), id.parse()?)),
            _ => bail!("the compiled program says `{line}`"),
        }
        Ok(())
    }
}

/// Texts of the public files.
struct Sources {
    folder: PathBuf,
}

impl Sources {
    fn fetch(lab: &Lab<'_>) -> Result<Self> {
        let folder = lab.folder().join("sources");
        fs::create_dir_all(folder.join("lists/partial"))?;
        let mut indices = Command::new("apt-get");
        indices.args(["indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"]);
        let indices = output(&mut indices)?;
        let mirror = indices.lines().find_map(|line| line.strip_prefix("Debian "));
        let mirror = mirror.context("apt has packages from no mirror of Debian")?;
        fs::write(folder.join("index.list"), format!("deb-src {mirror} {RELEASE} main\n"))?;
        let here = |option: &str, path: &str| format!("{option}={}", folder.join(path).display());
        let options = [
            here("Dir::Etc::sourcelist", "index.list"),
            "Dir::Etc::sourceparts=/dev/null".into(),
            here("Dir::State::lists", "lists"),
        ];
        let apt = |arguments: &[&str]| {
            let mut command = Command::new("apt-get");
            command.arg("--quiet=2").current_dir(&folder);
            for option in &options {
                command.args(["--option", option]);
            }
            command.args(arguments);
            command
        };
        run_well(&mut apt(&["update"]), Some(lab.deadline()))?;
        for name in ["nvme-cli", "smartmontools"] {
            run_well(&mut apt(&["source", name]), Some(lab.deadline()))?;
        }
        // The header of this machine's own release: the index of the next one has no such package.
        let mut download = Command::new("apt-get");
        download.args(["--quiet=2", "download", "libnvme-dev"]).current_dir(&folder);
        run_well(&mut download, Some(lab.deadline()))?;
        let package = find(&folder, |name| name.starts_with("libnvme-dev"))?;
        let mut unpack = Command::new("dpkg");
        unpack.arg("--extract").arg(package).arg(folder.join("libnvme-dev"));
        run_well(&mut unpack, Some(lab.deadline()))?;
        Ok(Self { folder })
    }

    /// The text of a file: the beginning of its package's folder, `:`, and its path in it.
    fn text(&self, file: &str) -> Result<String> {
        let (package, path) = file.split_once(':').context("a file has a package")?;
        let folder = find(&self.folder, |name| name.starts_with(package) && !name.contains('_'))?;
        let path = folder.join(path);
        let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn find(folder: &Path, is_it: impl Fn(&str) -> bool) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&is_it) {
            return Ok(entry.path());
        }
    }
    bail!("what apt fetched is not in {}", folder.display())
}

/// What every program begins with.
const HEAD: &str = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
                    #include <stdlib.h>\n\
    #include <string.h>\n#define __packed __attribute__((packed))\n#define GUID_LEN 16\n\
    typedef uint8_t __u8; typedef uint16_t __u16, __le16; typedef uint32_t __u32, __le32;\n\
    typedef uint64_t __u64, __le64;\n\
    struct request_data { const char *field; int size; int size2; };\n\
    struct devstat_entry_info { short size; const char *name; };\n\
    struct item_name { uint32_t index; const char *attr; };\n";

/// C programs that print every member: one for each structure, whose names may be those of another.
fn programs(sources: &Sources) -> Result<Vec<String>> {
    let mut programs = Vec::new();
    for structure in structures() {
        let mut head = String::new();
        define(&mut head, &sources.text(structure.file)?, &structure)?;
        let Structure { page, name, base, members, .. } = &structure;
        let mut body = String::new();
        for (key, member, skip, width) in members {
            let width = match width {
                0 => format!("sizeof(((struct {name} *)0)->{member})"),
                width => format!("(size_t){width}"),
            };
            writeln!(
                body,
                "printf(\"field {page} {key} %zu %zu\\n\", {base} + offsetof(struct {name}, \
                 {member}) + {skip}, {width});"
            )?;
        }
        programs.push((head, body));
    }
    for array in ARRAYS {
        programs.push(of_array(sources, array)?);
    }
    for (page, number, keys) in STATISTICS {
        let text = sources.text("smartmontools-:ataprint.cpp")?;
        let items = braces(&text, &format!("devstat_info_0x0{number}[] = "))?;
        let head = format!("static struct devstat_entry_info items[] = {items};\n");
        let mut body = String::new();
        for (index, key) in (1..).zip(*keys) {
            writeln!(
                body,
                "if ({index} + 1 < sizeof items / sizeof *items) \
                 printf(\"field {page} {key} %d %d\\n\", {index} * 8, abs(items[{index}].size));"
            )?;
        }
        programs.push((head, body));
    }
    for (page, file, declaration, which) in IDS {
        let text = sources.text(file)?;
        let from = text.match_indices(declaration).nth(*which).context("a list of attributes")?.0;
        let items = braces(&text[from..], declaration)?;
        let head = format!("static struct item_name items[0x100] = {items};\n");
        let line = format!("if (items[i].attr) printf(\"id {page} %d\\n\", i);");
        programs.push((head, format!("for (int i = 0; i < 0x100; i++) {line}\n")));
    }
    let whole = |(head, body)| format!("{HEAD}{head}int main(void) {{\n{body}return 0;\n}}\n");
    Ok(programs.into_iter().map(whole).collect())
}

/// Definitions and statements that print the fields of an array of sizes.
fn of_array(sources: &Sources, array: &Array) -> Result<(String, String)> {
    let Array { page, file, name, column, fields } = array;
    let text = sources.text(file)?;
    let items = braces(&text, &format!("{name}[] = "))?;
    let head = format!("static struct request_data items[] = {items};\n");
    let mut body = String::new();
    for (key, title) in *fields {
        writeln!(
            body,
            "{{ int at = 0; for (size_t i = 0; i < sizeof items / sizeof *items; i++) {{ \
             if (!strcmp(items[i].field, \"{title}\")) \
             printf(\"field {page} {key} %d %d\\n\", at, items[i].{column}); \
             at += items[i].{column}; }} }}"
        )?;
    }
    Ok((head, body))
}

/// The definitions that a structure needs, once each.
fn define(head: &mut String, text: &str, structure: &Structure) -> Result<()> {
    for name in structure.constants {
        let line = text.lines().find(|line| {
            let mut words = line.split_whitespace();
            (words.next(), words.next()) == (Some("#define"), Some(*name))
        });
        let line = line.with_context(|| format!("`{name}` is not defined"))?.trim();
        if !head.contains(line) {
            writeln!(head, "{line}")?;
        }
    }
    for name in structure.needs.iter().chain([&structure.name]) {
        let begins = [format!("struct __packed {name}"), format!("struct {name}")];
        if begins.iter().any(|begin| head.contains(&format!("{begin} {{"))) {
            continue;
        }
        let definition = begins.iter().find_map(|begin| {
            let at = text
                .match_indices(begin.as_str())
                .map(|(at, _)| at)
                .find(|&at| text[at + begin.len()..].trim_start().starts_with('{'))?;
            Some((begin, braces(&text[at..], begin).ok()?))
        });
        let (begin, members) = definition.with_context(|| format!("no `struct {name}`"))?;
        writeln!(head, "{begin} {members};")?;
    }
    Ok(())
}

/// From the first brace after `begin` to the one that closes it.
fn braces<'a>(text: &'a str, begin: &str) -> Result<&'a str> {
    let at = text.find(begin).with_context(|| format!("`{begin}` is not there"))?;
    let text = &text[at + begin.len()..];
    let text = &text[text.find('{').context("no brace")?..];
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Ok(&text[..=at]),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    bail!("the brace after `{begin}` is not closed")
}
