use crate::profile::{BUILT_IN, Profile, ProfileError};

/// A profile whose data sheet has this line beside or in place of others.
fn with(line: &str) -> Result<Profile, ProfileError> {
    let text = BUILT_IN.iter().find(|it| it.name == "micron-7450-max-800").unwrap().text;
    let (model, sheet) = text.split_once("[data_sheet]\n").unwrap();
    let key = line.split(' ').next().unwrap();
    let kept = sheet.lines().filter(|it| it.split(' ').next() != Some(key));
    let kept: Vec<&str> = kept.chain([line]).collect();
    Profile::parse(&format!("{model}[data_sheet]\n{}\n", kept.join("\n")))
}

fn value(key: &str, value: &str) -> Result<Profile, ProfileError> {
    with(&format!("{key} = {{ value = {value}, sourced = \"here\" }}"))
}

fn refused(key: &str, text: &str) -> String {
    value(key, text).unwrap_err().to_string()
}

#[test]
fn named_drives_are_those_of_their_data_sheets() {
    let sheets = BUILT_IN.iter().filter(|it| it.text.contains("[data_sheet]"));
    for built_in in sheets.clone() {
        let profile = Profile::parse(built_in.text).unwrap();
        assert!(profile.published.len() >= 6, "{}", built_in.name);
        assert!(profile.values.iter().all(|value| !value.key.starts_with("data_sheet")));
    }
    assert_eq!(sheets.count(), 4);
}

#[test]
fn a_limit_too_far_from_the_published_figure_names_both_keys() {
    for (key, text, ours) in [
        ("random_reads", "800000", "host.command"),
        ("random_reads", "350000", "host.command"),
        ("read_bytes_per_second", "\"10300MB\"", "host.link_bytes_per_second"),
        ("write_bytes_per_second", "\"2300MB\"", "nand.program"),
        ("write_bytes_per_second", "\"900MB\"", "nand.program"),
        ("read_latency", "\"150us\"", "nand.read"),
        ("write_latency", "\"4us\"", "host.latency"),
        ("capacity", "\"15GiB\"", "drive.capacity"),
    ] {
        let error = refused(key, text);
        let begin = format!("`{ours}` contradicts `data_sheet.{key}`: ");
        assert!(error.contains(&begin), "{error}");
    }
    let error = refused("random_reads", "800000");
    let said = "random reads are 530223 a second, the data sheet has 800000 a second: less by more \
                than a factor of 1.5; correct one of them";
    assert!(error.contains(said), "{error}");
}

#[test]
fn what_is_near_enough_or_says_nothing_is_taken() {
    for (key, text) in [
        ("random_reads", "790000"),
        ("random_reads", "354000"),
        ("write_latency", "\"5us\""),
        // Collection lowers random writes by as much as it likes.
        ("random_writes", "1000"),
        ("endurance", "\"10%\""),
    ] {
        value(key, text).unwrap_or_else(|error| panic!("{key}: {error}"));
    }
}

#[test]
fn a_data_sheet_that_contradicts_itself_is_refused() {
    let error = refused("random_writes", "540000");
    let begin = "`data_sheet.random_writes` contradicts `data_sheet.write_bytes_per_second`: ";
    assert!(error.contains(begin), "{error}");
}

#[test]
fn a_published_figure_has_a_source_and_a_known_key() {
    let assumed = with("random_reads = { value = 530000, assumed = \"typical\" }");
    let error = assumed.unwrap_err().to_string();
    assert!(error.contains("`data_sheet.random_reads` is published: write `sourced`"), "{error}");
    let error = refused("random_raeds", "530000");
    assert!(error.contains("did you mean `data_sheet.random_reads`"), "{error}");
    assert!(refused("endurance", "3").contains("a text with a unit"));
}

#[test]
fn times_that_are_too_long_to_be_added_are_no_panic() {
    let text = BUILT_IN.iter().find(|it| it.name == "generic-nvme-qlc-large").unwrap().text;
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap();
    let longest = "command = { value = \"18446744073709551615ns\", assumed = \"here\" }";
    // Refused or not: nothing bounds it but the kind of its number.
    let _ = Profile::parse(&text.replacen(line, longest, 1));
}
