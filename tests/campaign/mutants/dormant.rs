//! All mutants in one program, asleep: the environment says which one wakes when it runs.
//!
//! A function of which there are mutants becomes a `match` over what is awake, with one arm for the
//! function's body with each mutant, and one for the body as it is. So hundreds of mutants are
//! built at once, and a run tells which functions it came through. What cannot be built that way
//! (a mutant that is no program at all, or one of a constant) is found by the compiler's errors and
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::list::{Mutant, Place};

/// Names the mutant that is awake, by its number; none is without it.
pub(super) const AWAKE: &str = "TRIMBENCH_MUTANT";
/// Names a file that gets a line for each function that a program comes through.
pub(super) const REACHED: &str = "TRIMBENCH_MUTANT_REACHED";

/// What is added to the crate: which mutant is awake.
pub(super) fn runtime() -> String {
    let names = [("AWAKE_NAME", AWAKE), ("REACHED_NAME", REACHED)];
    let constant = |(constant, name)| format!("const {constant}: &str = {name:?};\n");
    [RUNTIME, &names.map(constant).concat(), "}\n"].concat()
}

/// As [`runtime`], without the names of the variables and the end.
const RUNTIME: &str = r#"
#[doc(hidden)]
#[allow(warnings, clippy::all, clippy::pedantic)]
pub mod mutant {
    use std::collections::BTreeSet;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, PoisonError};

    static AWAKE: LazyLock<usize> = LazyLock::new(|| {
        let awake = std::env::var(AWAKE_NAME).ok();
        awake.and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
    });
    static REACHED: LazyLock<Option<String>> =
        LazyLock::new(|| std::env::var(REACHED_NAME).ok());
    static SEEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

    pub fn awake(function: usize) -> usize {
        if let Some(path) = &*REACHED
            && SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(function)
            && let Ok(mut file) = OpenOptions::new().append(true).open(path)
        {
            let _ = file.write_all(format!("{function}\n").as_bytes());
        }
        *AWAKE
    }

"#;

/// The mutants, and the functions that they are in.
#[derive(Debug)]
pub(super) struct Dormant {
    mutants: Vec<Mutant>,
    /// Of the files that are mutated, as they are in the commit.
    texts: BTreeMap<PathBuf, String>,
    functions: Vec<Function>,
}

#[derive(Debug)]
struct Function {
    file: PathBuf,
    /// Where its body is, in bytes of its file.
    body: Range<usize>,
    /// The numbers of its mutants.
    mutants: Vec<usize>,
}

/// A file with dormant mutants.
#[derive(Debug)]
pub(super) struct Layered {
    pub(super) text: String,
    /// The lines, from 1, that came of these mutants alone.
    origins: Vec<(Range<usize>, Vec<usize>)>,
}

impl Dormant {
    /// Finds the functions of mutants of these texts. Those of a function within another one, and
    /// of constants, have none.
    pub(super) fn new(mutants: Vec<Mutant>, texts: BTreeMap<PathBuf, String>) -> Result<Self> {
        let mut groups: BTreeMap<(&Path, Place), Vec<usize>> = BTreeMap::new();
        for (number, mutant) in mutants.iter().enumerate() {
            if let Some(function) = &mutant.function {
                groups.entry((&mutant.file, function.span.start)).or_default().push(number);
            }
        }
        let mut functions: Vec<Function> = Vec::new();
        for ((file, _), numbers) in groups {
            let text = texts.get(file).with_context(|| format!("no text of {}", file.display()))?;
            let members = || numbers.iter().map(|number| &mutants[*number]);
            let Some(body) = body(text, members())? else { continue };
            let before = functions.last().filter(|before| before.file == file);
            if before.is_none_or(|before| before.body.end < body.start) {
                functions.push(Function { file: file.to_owned(), body, mutants: numbers });
            }
        }
        Ok(Self { mutants, texts, functions })
    }

    /// The mutants; their places here are their numbers.
    pub(super) fn mutants(&self) -> &[Mutant] {
        &self.mutants
    }

    /// By its number, the function that a mutant is in.
    pub(super) fn function_of(&self, mutant: usize) -> Option<usize> {
        self.functions.iter().position(|function| function.mutants.contains(&mutant))
    }

    /// The mutants that are in none.
    pub(super) fn others(&self) -> BTreeSet<usize> {
        (0..self.mutants.len()).filter(|number| self.function_of(*number).is_none()).collect()
    }

    /// The files with every mutant but those `left_out`.
    pub(super) fn layered(&self, left_out: &BTreeSet<usize>) -> Result<BTreeMap<PathBuf, Layered>> {
        let mut files: BTreeMap<PathBuf, Layered> = BTreeMap::new();
        for (path, text) in &self.texts {
            let mut layered = Layered { text: String::new(), origins: Vec::new() };
            let mut at = 0;
            for (number, function) in self.functions.iter().enumerate() {
                let of_it = function.mutants.iter().filter(|mutant| !left_out.contains(mutant));
                let of_it: Vec<usize> = of_it.copied().collect();
                if function.file != *path || of_it.is_empty() {
                    continue;
                }
                let body = &text[function.body.clone()];
                layered.add(&text[at..function.body.start], &[]);
                // As it is first, so that it is the mutants whose type is found to be another. An
                // error in it says that nothing of the kind can be done to this function.
                let whole = format!(
                    "match crate::mutant::awake({number}) {{\n\
                     other if !{of_it:?}.contains(&other) => {{\n{body}\n}}\n"
                );
                layered.add(&whole, &of_it);
                for mutant in of_it {
                    let mutated = self.mutants[mutant].apply(text)?;
                    let end = mutated.len() - (text.len() - function.body.end);
                    let mutated = &mutated[function.body.start..end];
                    layered.add(&format!("{mutant} => {{\n{mutated}\n}}\n"), &[mutant]);
                }
                layered.add("_ => unreachable!()\n}", &[]);
                at = function.body.end;
            }
            layered.add(&text[at..], &[]);
            files.insert(path.clone(), layered);
        }
        Ok(files)
    }
}

impl Layered {
    fn add(&mut self, text: &str, origin: &[usize]) {
        let first = self.text.matches('\n').count() + 1;
        self.text.push_str(text);
        if !origin.is_empty() {
            let last = self.text.trim_end().matches('\n').count() + 1;
            self.origins.push((first..last + 1, origin.to_vec()));
        }
    }

    /// The mutants that a line, from 1, came of.
    pub(super) fn origin(&self, line: usize) -> Option<&[usize]> {
        let found = self.origins.iter().rev().find(|(lines, _)| lines.contains(&line));
        found.map(|(_, mutants)| mutants.as_slice())
    }
}

/// Where the body of the function of these mutants is: what the mutant that replaces all of it
/// says, or else from the first line that ends with a brace.
fn body<'a>(
    text: &str,
    mut mutants: impl Iterator<Item = &'a Mutant>,
) -> Result<Option<Range<usize>>> {
    let Some(first) = mutants.next() else { return Ok(None) };
    let whole = std::iter::once(first).chain(mutants).find(|mutant| mutant.is_of_the_body());
    if let Some(whole) = whole {
        return Ok(Some(offset(text, whole.span.start)?..offset(text, whole.span.end)?));
    }
    let Some(function) = &first.function else { return Ok(None) };
    let (start, end) = (offset(text, function.span.start)?, offset(text, function.span.end)?);
    let code = &text[start..end];
    let open = code.find("{\n").with_context(|| format!("{}: no body", first.name))?;
    ensure!(code.ends_with('}'), "{}: no end of the body", first.name);
    Ok(Some(start + open + 2..end - 1))
}

/// The byte that a line and column, in characters and from 1, name.
fn offset(text: &str, place: Place) -> Result<usize> {
    let before: usize = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let line = text[before..].lines().next().unwrap_or_default();
    let mut columns = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    let column = columns.nth(place.column - 1);
    Ok(before + column.with_context(|| format!("no column {} in `{line}`", place.column))?)
}

#[cfg(test)]
mod tests;
