use super::*;

#[test]
fn every_built_in_profile_builds_and_is_named_like_its_file() {
    for built_in in BUILT_IN {
        let profile = Profile::parse(built_in.text)
            .unwrap_or_else(|error| panic!("{}: {error}", built_in.name));
        assert_eq!(profile.name, built_in.name);
        let total =
            profile.provenance.sourced + profile.provenance.fitted + profile.provenance.assumed;
        assert_eq!(total as usize, profile.values.len());
        assert!(total > 20, "{}", built_in.name);
        let small = profile.with_capacity(Bytes::gib(1));
        small.config.build().unwrap_or_else(|error| panic!("{}: {error}", built_in.name));
    }
}

#[test]
fn unknown_keys_missing_keys_and_bare_numbers_are_errors() {
    let good = BUILT_IN[0].text;
    let with = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from} is in the profile");
        Profile::parse(&changed).expect_err("the profile is wrong now").to_string()
    };
    assert!(with("write_buffer =", "write_bufer =").contains("write_bufer"));
    assert!(with("read = {", "# read = {").contains("missing field `read`"));
    assert!(with("value = \"60us\"", "value = \"60\"").contains("no unit"));
    assert!(with("value = \"60us\"", "value = \"60 parsec\"").contains("parsec"));
    assert!(with("\"blocking\"", "\"blokking\"").contains("blokking"));
    assert!(with(", assumed =", ", guessed =").contains("guessed"));
}

#[test]
fn a_value_says_exactly_once_where_it_comes_from() {
    let good = BUILT_IN[0].text;
    let twice = good.replacen("assumed = ", "fitted = \"x\", assumed = ", 1);
    assert!(matches!(Profile::parse(&twice), Err(ProfileError::Source { .. })));
}
