use super::*;
use crate::{Bytes, Nanos, Ppm, settings};

settings! {
    /// Settings of every kind.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Sample(values) {
        /// a time, {}
        window: Nanos = "window", presets("1s", "2s", "3s"),
            within(Nanos::from_secs(1), Nanos::from_secs(7_200));
        /// sizes, {} each
        sizes: Vec<Bytes> = "sizes", default_to("1MiB"),
            ascending(list(multiple_of(Bytes(4_096), within(Bytes(4_096), Bytes::gib(1)))));
        /// the same as `window`, or another time
        lead: Nanos = "lead", IfUnset::SameAs("window"), described("at most a day");
        /// a table that may be left out
        more: Option<More>;
        /// {}
        limit: Option<Ppm> = "limit", default_to("none"), or_word("none", within(Ppm(0), Ppm::ONE));
        /// {}
        count: Option<u32> = "count", IfUnset::Absent, optional(within(1, 9));
    } with {
        twice: Nanos = window.times(2);
        blocks: u64 = values.block_size().bytes().0;
    }
    check Sample::check;
}

settings! {
    /// A table of its own.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct More(values) {
        /// {}
        on: bool = "more.on", IfUnset::Required, true_false();
        /// {}
        word: bool = "more.word", IfUnset::Required, yes_no();
        /// any
        name: String = "more.name", default_to("x"), text();
    }
}

impl Sample {
    fn check(&self, values: &Values) -> Result<(), SettingError> {
        let even = self.window.0.is_multiple_of(2);
        if even { Ok(()) } else { Err(values.wrong("window", "it is odd")) }
    }
}

fn values(preset: usize, set: &[(&str, &str)]) -> Result<Values, SettingError> {
    let rows = Sample::rows();
    let mut values = Values::new("option", "`sample`").in_preset(&rows, preset);
    values.texts.retain(|(key, _)| *key != "more.name");
    set.iter().try_for_each(|(key, text)| values.set(&rows, key, text).map(drop))?;
    Ok(values)
}

fn read(set: &[(&str, &str)]) -> Result<Sample, SettingError> {
    Sample::read(&values(0, set)?)
}

fn refused(key: &str, text: &str) -> String {
    read(&[(key, text)]).expect_err(text).to_string()
}

#[test]
fn what_the_user_sets_replaces_the_preset() {
    let second = Nanos::from_secs(1);
    assert_eq!(Sample::read(&values(1, &[]).unwrap()).unwrap().window, second.times(2));
    let set = values(1, &[("window", " 7s ")]).unwrap();
    assert_eq!(Sample::read(&set).unwrap().window, second.times(7));
    assert_eq!(set.to_map()["window"], " 7s ", "as it was set");
    let sample = read(&[]).unwrap();
    assert_eq!((sample.lead, sample.twice), (second, second.times(2)));
    assert_eq!((sample.more, sample.limit, sample.count), (None, None, None));
    assert_eq!(read(&[("lead", "3s")]).unwrap().lead, second.times(3));
    let sizes = read(&[("sizes", "2MiB, 8KiB,2MiB")]).unwrap().sizes;
    assert_eq!(sizes, [Bytes(8_192), Bytes::mib(2)]);
    let large = values(0, &[]).unwrap().in_blocks(BlockSize::new(Bytes(4_096)).unwrap());
    assert_eq!(Sample::read(&large).unwrap().blocks, 4_096);
}

#[test]
fn a_table_that_may_be_left_out_is_whole_or_names_what_it_lacks() {
    assert_eq!(refused("more.name", "y"), "`sample` lacks `more.on`, `more.word`");
    assert_eq!(refused("more.on", "true"), "`sample` lacks `more.word`");
    let sample = read(&[("more.on", "false"), ("more.word", "no")]).unwrap();
    assert_eq!(sample.more, Some(More { on: false, word: false, name: "x".to_owned() }));
}

#[test]
fn errors_name_the_nearest_key_the_unit_and_the_range() {
    for (key, text, said) in [
        ("windw", "1s", "`sample` has no option `windw`; did you mean `window`?; it has window, "),
        ("x", "1s", "`sample` has no option `x`; it has window, sizes, lead, more.on, "),
        ("window", "9h", "option `window` of `sample`: `9h` is out of range; give 1s to 2h"),
        ("window", "0", "`0` is out of range; give 1s to 2h"),
        (
            "window",
            "1",
            "`1` has no unit (ns, us, ms, s, min, h); write for example `1s`; give 1s to 2h",
        ),
        ("window", "", "`` does not begin with a number"),
        ("window", "1000000001ns", "option `window` of `sample`: it is odd"),
        ("sizes", "1MiB,", "`` does not begin with a number"),
        ("sizes", "1MiB,5000B", "`5000B` is not a multiple of 4KiB; give 4KiB to 1GiB"),
        ("limit", "101%", "`101%` is out of range; give 0 to 100%, or `none`"),
        ("lead", "soon", "`soon` does not begin with a number"),
        (
            "lead",
            "5parsec",
            "`parsec` is not a unit here; use one of ns, us, ms, s, min, h; give at",
        ),
        ("count", "many", "`many` is not a whole number; give 1 to 9"),
        ("count", "-1", "`-1` is not a whole number"),
        ("count", "99999999999", "`99999999999` is too large; give 1 to 9"),
        ("more.on", "yes", "`yes` is not one of true, false"),
    ] {
        let whole = [("more.on", "true"), ("more.word", "yes"), (key, text)];
        let error = read(&whole).expect_err(text).to_string();
        assert!(error.contains(said), "{key}={text}: {error}");
    }
    let rows = Sample::rows();
    let error = values(0, &[]).unwrap().set_part(&rows, "window").unwrap_err().to_string();
    assert_eq!(error, "`window` is not a setting; write `KEY=VALUE`");
    assert_eq!(values(0, &[]).unwrap().set_part(&rows, "count=2"), Ok(None));
}

#[test]
fn what_is_shown_reads_as_the_same() {
    let set = [("more.on", "true"), ("more.word", "no"), ("window", "60s"), ("count", "3")];
    let shown = read(&set).unwrap().shown();
    let texts = [("window", "60s"), ("lead", "60s"), ("more.on", "true"), ("more.word", "no")];
    let texts: Vec<_> = texts.into_iter().chain([("more.name", "x"), ("count", "3")]).collect();
    let shown: Vec<(&str, &str)> = shown.iter().map(|(key, text)| (*key, text.as_str())).collect();
    assert_eq!(shown, texts, "lists and words for nothing are not");
    assert_eq!(read(&shown), read(&set));
}

#[test]
fn a_row_says_its_range_once_for_help_and_errors() {
    let rows = Sample::rows();
    let row = |key| rows.iter().find(|row| row.key == key).unwrap();
    assert_eq!((row("window").help.as_str(), row("window").unit), ("a time, 1s to 2h", Unit::Time));
    assert_eq!(row("sizes").help, "sizes, 4KiB to 1GiB each");
    assert_eq!(
        (row("more.on").help.as_str(), row("more.on").unit),
        ("`true` or `false`", Unit::Flag)
    );
    assert_eq!(row("window").presets(), ["1s", "2s", "3s"]);
    assert_eq!((row("lead").range.as_str(), row("lead").presets()), ("at most a day", [""; 3]));
    assert_eq!((row("count").unit, row("limit").unit), (Unit::Number, Unit::Ratio));
}
