//! What a release has beside the program: units of systemd, the configuration, rules of alerts.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]
#![expect(clippy::print_stderr, reason = "tests report what they skip")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// What a program says; `None`, said, without the program.
fn output(test: &str, program: &str, arguments: &[&str]) -> Option<Output> {
    let output = Command::new(program).args(arguments).output().ok();
    if output.is_none() {
        eprintln!("SKIP {test}: no {program}");
    }
    output
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// The units with the program where it is here.
fn units(folder: &Path) -> Vec<String> {
    let here = env!("CARGO_BIN_EXE_trimpace");
    let unit = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let place = folder.join(entry.file_name());
        fs::write(&place, text.replace("/usr/sbin/trimpace", here)).unwrap();
        place.to_str().unwrap().to_owned()
    };
    let mut units: Vec<String> = fs::read_dir(packaging("systemd")).unwrap().map(unit).collect();
    units.sort();
    assert_eq!(units.len(), 3);
    units
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let test = "systemd_finds_nothing_wrong_with_the_units";
    let folder = tempfile::tempdir().unwrap();
    let units = units(folder.path());
    let units: Vec<&str> = units.iter().map(String::as_str).collect();
    let arguments = [&["verify", "--man=no"], &units[..]].concat();
    let Some(verified) = output(test, "systemd-analyze", &arguments) else { return };
    assert_eq!((verified.status.success(), text(&verified).as_str()), (true, ""));
    for unit in units.iter().filter(|unit| unit.ends_with(".service")) {
        // In tenths.
        let arguments = ["security", "--offline=true", "--threshold=20", "--no-pager", unit];
        let secure = output(test, "systemd-analyze", &arguments).unwrap();
        assert!(secure.status.success(), "{}", text(&secure));
    }
}

/// The line of an example, which has no space behind the mark of a comment.
fn uncommented(line: &str) -> &str {
    line.strip_prefix('#').filter(|line| !line.starts_with(' ')).unwrap_or(line)
}

#[test]
fn the_packaged_configuration_is_valid_with_and_without_its_examples() {
    let config = fs::read_to_string(packaging("trimpace.toml")).unwrap();
    let parse = |text: &str| trimpace::config::Config::parse(text, Path::new("trimpace.toml"));
    let plain = parse(&config).unwrap();
    assert_eq!(plain, parse("").unwrap());
    let examples: Vec<&str> = config.lines().map(uncommented).collect();
    let with = parse(&examples.join("\n")).unwrap();
    assert_eq!((with.mounts.len(), with.pause.while_active.len()), (1, 1));
}

#[test]
fn prometheus_reads_the_rules() {
    let test = "prometheus_reads_the_rules";
    let rules = packaging("monitoring/trimpace.rules.yml");
    let arguments = ["check", "rules", rules.to_str().unwrap()];
    let Some(checked) = output(test, "promtool", &arguments) else { return };
    assert!(checked.status.success() && text(&checked).contains("3 rules"), "{}", text(&checked));
}

#[test]
fn the_board_asks_for_metrics_that_there_are() {
    let board = fs::read_to_string(packaging("monitoring/trimpace-dashboard.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&board).unwrap();
    let rules = fs::read_to_string(packaging("monitoring/trimpace.rules.yml")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let asked = panels.iter().map(|panel| panel["targets"][0]["expr"].as_str().unwrap());
    let asked: String = asked.chain([rules.as_str()]).collect::<Vec<_>>().join("\n");
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let page = fs::read_to_string(packaging("../docs/trimpace-service.md")).unwrap();
    let names = asked.split(|letter| !is_name(letter)).filter(|it| it.starts_with("trimpace_"));
    let names: std::collections::BTreeSet<&str> = names.collect();
    assert!(names.len() >= 7, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
