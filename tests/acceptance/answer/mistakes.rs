//! Mistakes on the command line: what people mistype, and what the program answers.
//!
//! The table was written before the program was asked. Each row runs in a folder that has images, a
//! directory, a record and job files. Blanks count as one, so that wrapped lines are read as well.

mod table;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use self::table::{JOBS, MISTAKES, Mistake};
use crate::acceptance::{Bar, Capture, Context, Finding, Raw};

/// Mistakes, at least.
const MISTAKES_MIN: f64 = 40.0;
/// What stands for the folder of the scene in the table and in captures.
const SCENE: &str = "$SCENE";

pub(in crate::acceptance) fn measure(context: &Context<'_>) -> Result<()> {
    let scene = context.folder().join("scene");
    fs::create_dir_all(scene.join("dir")).context("make the scene")?;
    for image in ["disk.img", "other.img"] {
        let file = File::create(scene.join(image)).context("make an image")?;
        file.set_len(1 << 30).context("make an image")?;
    }
    for (name, text) in JOBS {
        fs::write(scene.join(name), text).context("write a job file")?;
    }
    let mut run = context.trimbench(&[
        "run",
        "delete-stall",
        "-t",
        "sim:like-rc100",
        "--capacity",
        "1GiB",
        "--set",
        "sizes=16MiB,32MiB,64MiB",
        "--set",
        "span=64MiB",
        "--no-report",
        "-o",
        "run",
    ])?;
    context.capture_well("record", run.current_dir(&scene))?;
    let before = listing(&scene)?;
    for (index, mistake) in MISTAKES.iter().enumerate() {
        let mut command = context.trimbench(&[])?;
        command.args(words(mistake, &scene)).current_dir(&scene);
        context.capture(&name(index), &mut command)?;
    }
    ensure!(listing(&scene)? == before, "a mistake left something behind in {}", scene.display());
    Ok(())
}

fn name(index: usize) -> String {
    format!("mistake-{index:02}")
}

fn words(mistake: &Mistake, scene: &Path) -> Vec<String> {
    let scene = scene.display().to_string();
    let words = mistake.arguments.split_whitespace();
    words.map(|word| word.replace(SCENE, &scene).replace('_', " ")).collect()
}

/// The names in a folder.
fn listing(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).context("list the scene")? {
        names.push(entry.context("list the scene")?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

pub(in crate::acceptance) fn read(raw: &Raw) -> Result<Vec<Finding>> {
    let captures: Vec<Capture> =
        (0..MISTAKES.len()).map(|index| raw.capture(&name(index))).collect::<Result<_>>()?;
    let first = captures.first().context("no mistake was made")?;
    let mut failed = [const { Vec::new() }; 3];
    for (mistake, capture) in MISTAKES.iter().zip(&captures) {
        let (output, errors) = (raw.text(&capture.output)?, raw.text(&capture.errors)?);
        let said = plain(&format!("{output}\n{errors}"));
        let marked = |mark: &str, text: &str| match text {
            "" => true,
            text => said.contains(&format!("{mark}{}", plain(text))),
        };
        let mark = if mistake.exit == 0 { "" } else { "error: " };
        let failures = [
            capture.status != Some(mistake.exit.into()),
            !marked(mark, mistake.message),
            !marked("hint: ", mistake.hint),
        ];
        for (failed, _) in failed.iter_mut().zip(failures).filter(|(_, fails)| *fails) {
            failed.push(mistake.arguments);
        }
    }
    let count = MISTAKES.len() as f64;
    let finding = |what: &str, figure: f64, bar| Finding::new(what, (figure, ""), bar, first);
    let mut findings = vec![finding("mistakes made", count, Bar::AtLeast(MISTAKES_MIN))];
    let parts = ["the exit code", "the message", "the hint"];
    findings.extend(parts.into_iter().zip(failed).map(|(part, failed)| {
        let right = count - failed.len() as f64;
        let note =
            if failed.is_empty() { String::new() } else { format!("not: {}", failed.join("; ")) };
        finding(&format!("of these with {part} as wished"), right, Bar::Equals(count))
            .with_note(&note)
    }));
    Ok(findings)
}

/// The text with blanks and line ends as one blank each, and without the scene's place.
fn plain(text: &str) -> String {
    let words = text.split_whitespace().map(|word| match word.split_once(SCENE_ENDS) {
        Some((before, after)) => match before.rfind('/').and(before.find('/')) {
            Some(start) => format!("{}{SCENE}{after}", &before[..start]),
            None => word.to_owned(),
        },
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// How the path of the scene ends, wherever the raw output lies.
const SCENE_ENDS: &str = "/scene";
