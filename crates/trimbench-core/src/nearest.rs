//! Which known name a mistyped one was probably meant to be.

#[cfg(test)]
mod tests;

/// Names less alike than this are no typing errors.
const SIMILARITY_MIN: f64 = 0.75;

/// The name of `known` that is nearest to `given`, if any is near enough to be meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (name, strsim::jaro_winkler(given, name)))
        .filter(|(_, similarity)| *similarity > SIMILARITY_MIN)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, _)| name)
}

/// The end of a message about an unknown name: `; did you mean ...?`, or nothing.
pub fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}
