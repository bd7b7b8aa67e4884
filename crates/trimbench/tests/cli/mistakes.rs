//! Mistakes on the command line: what people mistype, and what the program answers.
//!
//! Each row of the table runs in a folder that has images, a directory, a record and job files.
//! Blanks count as one, so that wrapped lines are read as well.

mod table;

use std::fs::{self, File};
use std::path::Path;

use tempfile::tempdir;

use self::table::{JOBS, MISTAKES, Mistake};
use super::{code, looking, small, stderr, stdout, trimbench};

/// What stands for the folder of the scene in the table.
const SCENE: &str = "$SCENE";

#[test]
fn mistakes_are_answered_as_was_written_down_beforehand() {
    let scene = tempdir().unwrap();
    let scene = scene.path();
    fs::create_dir(scene.join("dir")).unwrap();
    for image in ["disk.img", "other.img"] {
        File::create(scene.join(image)).unwrap().set_len(1 << 30).unwrap();
    }
    for (name, text) in JOBS {
        fs::write(scene.join(name), text).unwrap();
    }
    let run = trimbench(scene, &small(&["--target", "sim:like-rc100", "--output", "run"]));
    assert_eq!(code(&run), Some(0), "{}", stderr(&run));
    let before = listing(scene);
    let wrong: Vec<String> = MISTAKES.iter().filter_map(|mistake| wrong(mistake, scene)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(listing(scene), before, "a mistake left something behind");
}

/// What is wrong with the answer to a mistake.
fn wrong(mistake: &Mistake, scene: &Path) -> Option<String> {
    let place = scene.to_str().unwrap();
    let words = mistake.arguments.split_whitespace();
    let words: Vec<String> =
        words.map(|word| word.replace(SCENE, place).replace('_', " ")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = looking(scene, &words).output().unwrap();
    let said = plain(&format!("{}\n{}", stdout(&output), stderr(&output)).replace(place, SCENE));
    let says = |mark: &str, text: &str| {
        text.is_empty() || said.contains(&format!("{mark}{}", plain(text)))
    };
    let mark = if mistake.exit == 0 { "" } else { "error: " };
    let is_right = code(&output) == Some(mistake.exit.into())
        && says(mark, mistake.message)
        && says("hint: ", mistake.hint);
    (!is_right).then(|| format!("{mistake:?}: exit code {:?}: {said}", code(&output)))
}

/// The text with blanks and line ends as one blank each.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The names in a folder.
fn listing(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
