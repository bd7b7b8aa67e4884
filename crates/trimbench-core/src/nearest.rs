//! Finds the known name that a mistyped one probably meant.

#[cfg(test)]
mod tests;

/// Names less alike than this are no typing errors.
const SIMILARITY_MIN: f64 = 0.75;

/// The name of `known` that is nearest to `given`, if any is near enough to be meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let first = by_likeness(given, known).into_iter().next();
    first.filter(|name| likeness(given, name) > SIMILARITY_MIN)
}

/// The name that is meant by one that is not known: what has taken the place of a `former` name
/// (former, today's), or else the nearest of `known`.
pub fn meant<'a>(
    given: &str,
    former: &[(&str, &'a str)],
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let renamed = former.iter().find(|(former, _)| *former == given);
    renamed.map(|(_, today)| *today).or_else(|| nearest(given, known))
}

/// The names, those most like `given` first.
pub fn by_likeness<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = known.into_iter().collect();
    names.sort_by(|a, b| likeness(given, b).total_cmp(&likeness(given, a)));
    names
}

/// The end of a message about an unknown name: `; did you mean ...?`, or nothing.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

fn likeness(given: &str, name: &str) -> f64 {
    strsim::jaro_winkler(given, name)
}
