use super::*;

#[test]
fn cases_have_names_of_their_own_and_their_traces() {
    let cases = cases::all();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_ref()).collect();
    assert_eq!(names.len(), cases.len());
    assert_eq!(
        cases.iter().filter(|case| case.is_resumed()).count(),
        cases::RESUMED.len(),
        "each case that is resumed is one"
    );
    let folder = tempfile::tempdir().unwrap();
    traces::write(folder.path()).unwrap();
    for trace in cases.iter().flat_map(Case::traces) {
        assert!(folder.path().join(trace).exists(), "{trace}");
    }
    let replayed = cases.iter().flat_map(Case::traces).count();
    assert_eq!(replayed, trimbench_trace::FORMATS.len(), "each format is replayed");
}

#[test]
fn every_method_and_every_profile_is_among_the_cases() {
    let cases = cases::all();
    let words: BTreeSet<&str> = cases.iter().flat_map(Case::words).collect();
    assert!(cases.iter().any(|case| case.arguments.is_empty()), "all that run on drives");
    for method in trimbench_methods::METHODS {
        let on_drives = ::tests::methods_on_drives().contains(&method.id);
        assert!(on_drives || words.contains(method.id), "{}", method.id);
    }
    let texts: Vec<&str> = words.into_iter().collect();
    for name in trimbench_ssd::BUILT_IN.iter().map(|profile| profile.name) {
        assert!(texts.iter().any(|text| text.contains(name)), "{name}");
    }
}

/// A side that runs a shell script in place of the program.
fn side(folder: &Path, name: &str, script: &str) -> Side {
    let (program, folder) = (folder.join(format!("{name}.sh")), folder.join(name));
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    let status = Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    assert!(status.success());
    Side { program, folder, kept: false }
}

/// A program that writes a record in which something stands, and ends with this exit code.
fn script(message: &str, commit: &str, code: u8) -> String {
    let record = format!(
        "{{\"schema\":2,\"program\":{{\"name\":\"trimbench\",\"version\":\"0\",\
         \"commit\":\"{commit}\",\"model_version\":3}},\"seed\":1,\"outcome\":{{\"status\":\
         \"failed\",\"message\":\"{message}\"}},\"plan\":[],\"sessions\":[]}}"
    );
    format!("test \"$1\" = run || exit 0\nmkdir -p run\necho '{record}' >run/run.json\nexit {code}")
}

fn compared(before: &str, now: &str) -> Compared {
    let folder = tempfile::tempdir().unwrap();
    let comparison = Comparison {
        before: side(folder.path(), "before", before),
        now: side(folder.path(), "now", now),
        inputs: folder.path().to_owned(),
        reviewed: Reviewed { base: "abc".to_owned(), rows: Vec::new() },
    };
    comparison.compare(&cases::all()[0], 1).unwrap()
}

#[test]
fn records_are_the_same_but_for_the_commit() {
    let same = compared(&script("x", "a", 0), &script("x", "b", 0));
    // This one is not written as the program writes it, which is seen, too.
    assert_eq!(same.differences, ["today's reader does not give back a record"]);
    let other = compared(&script("x", "a", 0), &script("y", "a", 0));
    assert_eq!(other.differences[1], "outcome/message: \"x\" -> \"y\"");
    let other = compared(&script("x", "a", 0), &script("x", "a", 4));
    assert_eq!(other.differences[1], "exit code 0 -> 4");
}

#[test]
fn all_items_are_done_and_the_first_error_counts() {
    let done = Mutex::new(BTreeSet::new());
    in_parallel(&[1, 2, 3], |item| {
        done.lock().unwrap().insert(*item);
        Ok(())
    })
    .unwrap();
    assert_eq!(done.into_inner().unwrap().len(), 3);
    let error = in_parallel(&[1, 2, 3], |item| {
        ensure!(*item != 2, "two");
        Ok(())
    });
    assert_eq!(error.unwrap_err().to_string(), "two");
}
