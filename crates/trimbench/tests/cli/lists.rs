//! What can be measured and on which emulated drives: for people, and for programs.

use serde_json::Value;
use tempfile::tempdir;
use trimbench_ssd::Profile;

use super::{code, stderr, stdout, trimbench};

/// What the program prints; it must end well.
fn list(arguments: &[&str]) -> String {
    let folder = tempdir().unwrap();
    let output = trimbench(folder.path(), &[&["list"], arguments].concat());
    assert_eq!(code(&output), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn json(arguments: &[&str]) -> Value {
    let text = list(&[arguments, &["--output-format", "json"]].concat());
    serde_json::from_str(&text).unwrap()
}

/// The profiles that come with the program, by the files that they are made from.
fn files() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.trim_end_matches(".toml").to_owned()
    });
    names.collect()
}

#[test]
fn every_profile_is_listed_with_how_much_of_it_is_assumed() {
    let text = list(&["profiles"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "readable at 80 columns: {text}");
    let listed = json(&["profiles"]);
    let listed = listed.as_array().unwrap();
    for name in files() {
        let profile = listed.iter().find(|profile| profile["name"] == *name);
        let profile = profile.unwrap_or_else(|| panic!("{name} is not listed"));
        let count = |origin: &str| profile[origin].as_u64().unwrap();
        let total = count("sourced") + count("fitted") + count("assumed");
        assert!(total >= 29, "{profile}");
        let line = text.lines().find(|line| line.split_whitespace().next() == Some(&name));
        let expected = format!("{} of {total}", count("assumed"));
        assert!(line.is_some_and(|line| line.contains(&expected)), "{name}: {expected} in {text}");
    }
    assert_eq!(listed.len(), files().len());
}

#[test]
fn a_profile_is_explained_value_by_value() {
    let narrow = |text: &str| text.lines().all(|line| line.chars().count() <= 80);
    assert!(narrow(&list(&["profiles", "--explain", "like-vertex4"])), "readable at 80 columns");
    let text = list(&["profiles", "--explain", "vendor2"]);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    let after = |start: &str| {
        let at = lines.iter().position(|line| line == start);
        &lines[at.unwrap_or_else(|| panic!("no `{start}` in {text}")) + 1]
    };
    // With its unit, and the source below.
    let trim = Profile::built_in("vendor2").unwrap().config.trim.command.to_string();
    let source = after(&format!("trim.command {trim} fitted"));
    assert!(source.starts_with("[S0], buffered, transactions with discard: 2479.9 s"), "{source}");
    assert!(after("nand.channel_bytes_per_second 1200MB/s assumed").starts_with("as the generic"));
    assert!(after("trim.per_gib_mapped 0/GiB assumed").starts_with("no growth with size"));
    let document = json(&["profiles", "--explain", "vendor2"]);
    let values = document["values"].as_array().unwrap();
    let count = |origin: &str| values.iter().filter(|value| value["origin"] == *origin).count();
    let (assumed, fitted, sourced) = (count("assumed"), count("fitted"), count("sourced"));
    let all = values.len();
    assert_eq!(assumed + fitted + sourced, all);
    let counts = format!("{assumed} of {all} values assumed, {fitted} fitted, {sourced} sourced");
    assert!(lines.contains(&counts), "no `{counts}` in {text}");
    assert_eq!(document["assumed"], assumed);
    let command = values.iter().find(|value| value["key"] == "trim.command").unwrap();
    assert_eq!((&command["value"], &command["origin"]), (&trim.into(), &"fitted".into()));
    assert!(command["source"].as_str().unwrap().contains("cargo xtask lab fit.published_drives"));
    // One line for each value.
    let format = ["profiles", "--explain", "vendor2", "--output-format", "ndjson"];
    let ndjson = list(&format);
    let parsed: Vec<Value> =
        ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&parsed, values);
}

#[test]
fn a_profile_of_ones_own_is_explained_too() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/like-rc100.toml");
    assert_eq!(
        list(&["profiles", "--explain", path]),
        list(&["profiles", "--explain", "like-rc100"])
    );
}

#[test]
fn methods_are_listed_and_explained() {
    let text = list(&["methods"]);
    let listed = json(&["methods"]);
    for method in listed.as_array().unwrap() {
        let id = method["id"].as_str().unwrap();
        assert!(text.lines().any(|line| line.starts_with(id)), "{id} in {text}");
        let explained = json(&["methods", "--explain", id]);
        let options = explained["options"].as_array().unwrap();
        let text = list(&["methods", "--explain", id]);
        for option in options {
            let [key, quick] = ["key", "quick"].map(|field| option[field].as_str().unwrap());
            // A value that is too long for its column goes on in the next line.
            let begins = |line: &str| {
                let mut words = line.split_whitespace();
                let is_key = words.next() == Some(key);
                is_key && words.next().map_or(quick.is_empty(), |it| quick.starts_with(it))
            };
            assert!(text.lines().any(begins), "{key} {quick} in {text}");
        }
        assert!(options.len() > 3, "{id}");
    }
    assert_eq!(listed[0]["id"], "delete-stall");
}
