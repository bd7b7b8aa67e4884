use super::*;

const INFOS: &[OptionInfo] = &[
    option("window", ["1s", "2s", "3s"], "a span"),
    option("sizes", ["1MiB", "1MiB,2MiB", "4MiB"], "sizes"),
];

fn resolve(preset: usize, set: &[(&str, &str)]) -> Result<Values, OptionError> {
    let set = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Values::resolve("some-method", INFOS, preset, &set)
}

#[test]
fn what_the_user_sets_replaces_the_preset() {
    let second = Nanos::from_secs(1);
    let hour = Nanos::from_secs(3_600);
    assert_eq!(resolve(1, &[]).unwrap().span("window", second, hour), Ok(second.times(2)));
    let set = resolve(1, &[("window", "7s")]).unwrap();
    assert_eq!(set.span("window", second, hour), Ok(second.times(7)));
    assert_eq!(set.to_map()["window"], "7s");
}

#[test]
fn an_unknown_key_names_the_nearest() {
    let error = resolve(0, &[("windw", "1s")]).unwrap_err();
    assert_eq!(error.to_string(), "`some-method` has no option `windw`; did you mean `window`?");
    let error = resolve(0, &[("colour", "1s")]).unwrap_err();
    assert_eq!(error.to_string(), "`some-method` has no option `colour`");
}

#[test]
fn values_out_of_range_or_without_unit_are_errors() {
    let second = Nanos::from_secs(1);
    for value in ["0s", "3s", "1", "soon", ""] {
        let values = resolve(0, &[("window", value)]).unwrap();
        let error = values.span("window", second, second.times(2)).unwrap_err();
        assert!(matches!(error, OptionError::Value { key: "window", .. }), "{value}: {error}");
    }
    for value in ["", "1MiB,", "1MiB,2", "1MiB,9GiB"] {
        let values = resolve(0, &[("sizes", value)]).unwrap();
        values.sizes("sizes", Bytes::mib(1), Bytes::gib(1)).unwrap_err();
    }
}

#[test]
fn lists_hold_any_quantity_and_texts_are_as_set() {
    let values = resolve(0, &[("sizes", "0,25%"), ("window", " until-then ")]).unwrap();
    assert_eq!(values.list("sizes", Ppm(0), Ppm::ONE), Ok(vec![Ppm(0), Ppm(250_000)]));
    values.list("sizes", Ppm(0), Ppm(200_000)).unwrap_err();
    assert_eq!(values.text("window"), "until-then");
}
