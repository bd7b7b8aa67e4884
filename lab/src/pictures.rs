//! The pictures of the report in the documents: each section, in light and dark.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tests::report_page::{look, run_as_readme_says, run_on_files, write_page};
use xtask::Repository;
use xtask::steps::Deadline;

use crate::lab::Lab;

/// Where they are.
const FOLDER: &str = "docs/images/report";
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// Makes them again.
pub(crate) fn renew(repository: &Repository) -> Result<()> {
    let lab = Lab::new(repository, false, Deadline::after(LIMIT))?;
    let (program, page) = (lab.program()?, lab.folder().join("report.html"));
    let runs = [
        run_as_readme_says(program, &lab.folder().join("drives"))?,
        run_on_files(program, &lab.folder().join("files"), &["vendor2"])?,
    ];
    write_page(program, &page, &runs)?;
    let folder = lab.path(FOLDER);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("empty {}", folder.display()))?;
    }
    let place = folder.to_str().context("a path in UTF-8")?;
    let pictures = look(&page, &["--pictures", place])?.pictures;
    ensure!(!pictures.is_empty(), "the page has no section");
    println!("{} pictures are in {FOLDER}", pictures.len());
    Ok(())
}
