//! The HTML report in Chromium: one page of records of emulated and real targets.
//!
//! `tests/browser/check_report.py` compares what the page draws and answers with the records, and
//! prints a line for each check.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use tests::Need::Browser;
use tests::report_page::look as pictured;
use tests::{browser_python, methods_on_drives, requires, scratch};

use super::policies::RUN;
use super::{code, stderr, trimbench};

/// The program that drives Chromium.
const CHECKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/browser/check_report.py");
/// Two drives, on which every method for drives runs.
const ON_DRIVES: [&str; 10] = [
    "--target",
    "sim:generic-nvme-tlc",
    "--target",
    "sim:vendor2",
    "--capacity",
    "1GiB",
    "--set",
    "sizes=16MiB,32MiB,64MiB",
    "--set",
    "span=256MiB",
];
/// What is measured on files, on a filesystem whose page cache is small enough that they reach the
/// drive.
const ON_FILES: [&str; 7] = [
    "run",
    "postmark",
    "delete-storm",
    "--target",
    "ext4,memory=16MiB:sim:vendor2,capacity=2GiB",
    "--set",
    "file-size=64MiB",
];
/// Three policies, as briefly as in `policies.rs`.
const POLICIES: [&str; 4] = [
    "--target",
    "ext4,journal=8MiB:sim:vendor2,capacity=512MiB",
    "--set",
    "policies=none,ext4,paced",
];
/// A directory, in real time.
const IN_DIRECTORY: [&str; 12] = [
    "run",
    "postmark",
    "--target",
    ".",
    "--set",
    "number=50",
    "--set",
    "transactions=100",
    "--set",
    "repetitions=2",
    "--set",
    "seed=7",
];
/// Two drives with a fault: one that takes TRIMs and does nothing, one that loses what lies beside.
const FAULTY: [&str; 9] = [
    "run",
    "trim-integrity",
    "recovery",
    "--capacity",
    "512MiB",
    "--target",
    "sim:ignores-trim.toml",
    "--target",
    "sim:generic-nvme-dramless,trim-eats-neighbour=4KiB",
];
/// The second of them.
const LOSING: &str = "generic-nvme-dramless,trim-eats-neighbour=4KiB";
/// Charts on a page of all kinds of records, at least.
const CHARTS_MIN: usize = 50;
/// Eleven methods; verdict, headlines, targets, caveats, methods' pages, data.
const SECTIONS_MIN: usize = 16;
/// A picture with fewer colours shows no text.
const COLOURS_MIN: u64 = 50;
const PICTURE_BYTES_MAX: u64 = 60 << 10;
/// Ways to break a page.
const WAYS: usize = 17;
/// Four drives that differ, and what each differs in: TRIMs off the path of reads and writes; 82 ms
/// each, whatever its size; none that frees anything; some that free too much.
const VERDICTS: [&str; 4] = [
    "generic-nvme-tlc=mount-with-discard",
    "vendor2, files=weekly-fstrim",
    "ignores-trim=trim-does-not-reach",
    "generic-nvme-dramless=do-not-trim",
];

/// A line of the checker.
#[derive(Clone, Debug, Deserialize)]
struct Line {
    theme: String,
    #[expect(dead_code, reason = "printed of a check that failed")]
    check: String,
    faults: Vec<String>,
}

/// Makes the records and their page, and looks at it.
fn look() -> Vec<Line> {
    let folder = scratch();
    let path = folder.path();
    std::fs::write(path.join("ignores-trim.toml"), ignores_trim()).unwrap();
    let image = path.join("disk");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let image = image.to_str().unwrap();
    let drives = [&["run"], &methods_on_drives()[..], &ON_DRIVES].concat();
    let policies = [&RUN[..], &POLICIES].concat();
    let on_image =
        ["run", "trim-integrity", "--set", "region=4MiB", "--target", image, "--destroy", image];
    let runs: [(&str, &[&str]); 6] = [
        ("drives", &drives),
        ("faulty", &FAULTY),
        ("files", &ON_FILES),
        ("policies", &policies),
        ("directory", &IN_DIRECTORY),
        ("image", &on_image),
    ];
    for (name, arguments) in runs {
        let output = trimbench(path, &[arguments, &["--output", name]].concat());
        assert!(matches!(code(&output), Some(0 | 1 | 4)), "{name}: {}", stderr(&output));
    }
    let names = runs.map(|(name, _)| name);
    let page = [&["report"], &names[..], &["--html", "page.html"]].concat();
    let output = trimbench(path, &page);
    assert!(matches!(code(&output), Some(0 | 4)), "{}", stderr(&output));
    assert_pictured(path);
    check(path, &names, &VERDICTS, &[])
}

/// Each section has a picture, light and dark.
fn assert_pictured(folder: &Path) {
    let (page, pictures) = (folder.join("page.html"), folder.join("pictures"));
    let pictures = pictured(&page, &["--pictures", pictures.to_str().unwrap()]).unwrap().pictures;
    for end in ["-light.webp", "-dark.webp"] {
        let count = pictures.iter().filter(|picture| picture.file.ends_with(end)).count();
        assert!(count >= SECTIONS_MIN, "{count} pictures {end}");
    }
    for picture in &pictures {
        let (bytes, colours) = (picture.bytes, picture.colours);
        assert!(bytes <= PICTURE_BYTES_MAX && colours >= COLOURS_MIN, "{picture:?}");
    }
}

/// The profile of a drive that takes TRIMs and frees nothing.
fn ignores_trim() -> String {
    let profile = include_str!("../../../../profiles/generic-sata-tlc.toml");
    let changed = profile
        .replace("name = \"generic-sata-tlc\"", "name = \"ignores-trim\"")
        .replace("mode = { value = \"blocking\"", "mode = { value = \"ignored\"");
    assert_eq!(changed.matches("ignore").count(), profile.matches("ignore").count() + 2);
    changed
}

fn check(folder: &Path, runs: &[&str], verdicts: &[&str], options: &[&str]) -> Vec<Line> {
    let mut command = Command::new(browser_python().expect("it was required"));
    command.arg("-B").arg(CHECKER).arg("page.html").current_dir(folder);
    command.args(runs.iter().map(|run| format!("{run}/run.json")));
    command.args(verdicts.iter().flat_map(|verdict| ["--verdict", verdict])).args(options);
    let output = command.output().expect("the interpreter is there");
    let lines = String::from_utf8_lossy(&output.stdout);
    let checks = lines.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert!(output.status.success(), "{}\n{lines}", String::from_utf8_lossy(&output.stderr));
    checks
}

/// What is checked of a page, in the words of the checker.
const THEMES: [&str; 18] = [
    "data",
    "charts",
    "record",
    "pixels",
    "hover",
    "zoom",
    "legend",
    "sorting",
    "filter",
    "downloads",
    "verdict",
    "complaints",
    "network",
    "width",
    "axe",
    "theme",
    "without-javascript",
    "print",
];

/// One test of one page: to make it takes longer than to look at it.
#[test]
fn the_page_shows_its_records_answers_its_reader_and_is_accessible() {
    let test = "browser::the_page_shows_its_records_answers_its_reader_and_is_accessible";
    if !requires(test, &[Browser]) {
        return;
    }
    let checks = look();
    let faulty: Vec<&Line> = checks.iter().filter(|check| !check.faults.is_empty()).collect();
    assert!(faulty.is_empty(), "{faulty:#?}");
    let checked: BTreeSet<&str> = checks.iter().map(|check| check.theme.as_str()).collect();
    let missing: Vec<&str> = THEMES.into_iter().filter(|it| !checked.contains(it)).collect();
    assert!(missing.is_empty(), "nothing was checked of {missing:?}");
    let charts = checks.iter().filter(|check| check.theme == "data").count();
    assert!(charts >= CHARTS_MIN, "{charts} charts");
}

/// The smaller a page, the sooner it is broken in all ways.
#[test]
fn each_check_finds_the_page_that_is_broken_for_it() {
    if !requires("browser::each_check_finds_the_page_that_is_broken_for_it", &[Browser]) {
        return;
    }
    let folder = scratch();
    let targets = ["like-optane-900p", LOSING].map(|drive| format!("sim:{drive},capacity=1GiB"));
    let targets = targets.iter().flat_map(|target| ["--target", target]);
    let run = ["run", "trim-integrity", "recovery", "steady-state", "--output", "run"];
    let run = run.into_iter().chain(targets).collect::<Vec<_>>();
    let output = trimbench(folder.path(), &run);
    assert!(matches!(code(&output), Some(0 | 1 | 4)), "{}", stderr(&output));
    trimbench(folder.path(), &["report", "run", "--html", "page.html"]);
    let verdicts = ["like-optane-900p=nothing-to-gain", VERDICTS[3]];
    let broken = check(folder.path(), &["run"], &verdicts, &["--break-each"]);
    let found = broken.iter().filter(|it| !it.faults.is_empty()).map(|it| it.theme.as_str());
    let found: BTreeSet<&str> = found.collect();
    assert_eq!(found.len(), WAYS, "{found:?}");
}
