use super::super::tests::record;
use super::*;

fn salvaged(json: &str) -> Salvaged {
    salvage(json.as_bytes()).unwrap()
}

/// A record of three sessions, as text.
fn three() -> String {
    let mut record = record();
    let (session, plan) = (record.sessions[0].clone(), record.plan[0].clone());
    record.sessions = vec![session; 3];
    record.plan = vec![plan; 3];
    String::from_utf8(record.to_json()).unwrap()
}

#[test]
fn a_whole_record_has_no_flaws() {
    let json = three();
    let Salvaged { record, flaws } = salvaged(&json);
    assert_eq!(record.to_json(), json.as_bytes());
    assert_eq!(flaws, [""; 0]);
}

#[test]
fn of_a_record_cut_off_anywhere_the_whole_sessions_before_the_cut_are_kept() {
    let json = three();
    let whole = salvaged(&json).record;
    let mut kept = [0; 4];
    for length in 0..json.len() - 2 {
        let Ok(Salvaged { record, flaws }) = salvage(&json.as_bytes()[..length]) else {
            // Before the program's name is whole, nobody can tell what it is.
            assert!(json[..length].lines().count() <= 8, "{length} bytes");
            continue;
        };
        let count = record.sessions.len();
        kept[count] += 1;
        assert_eq!(record.sessions[..], whole.sessions[..count]);
        let last = flaws.last().unwrap();
        let planned = record.plan.len().max(count);
        let expected = format!(
            "the record is cut off after {length} bytes: {count} of {planned} sessions were read"
        );
        assert_eq!(*last, expected);
    }
    assert!(kept.iter().all(|count| *count > 0), "{kept:?}");
}

#[test]
fn a_record_of_the_future_is_read_as_far_as_it_is_alike() {
    let json = three()
        .replacen("\"schema\": 4", "\"schema\": 5", 1)
        .replacen("\"seed\"", "\"mood\": \"good\",\n  \"seed\"", 1)
        .replacen("\"state\": \"fresh, filled once\"", "\"state\": { \"fill\": 1 }", 1);
    let Salvaged { record, flaws } = salvaged(&json);
    assert_eq!(record.sessions.len(), 3);
    assert_eq!(record.schema, SCHEMA);
    assert_eq!(record.sessions[0].state, "");
    assert_eq!(record.sessions[0].figures.len(), 1);
    assert_eq!(
        flaws,
        ["the record has format 5; this version reads up to 4: what it shares with that is shown"]
    );
}

#[test]
fn broken_parts_are_left_out_and_named() {
    let stutter = "\"stutter_s\": 0.30000000000000004";
    let table = [
        (
            stutter,
            "\"stutter_s\": \"much\"",
            3,
            "1 of 1 steps of session 0 (`delete-stall` on `sim:vendor2`) are left out \
             (invalid type: string \"much\", expected f64)",
        ),
        (
            "\"low\": 0.3,",
            "\"low\": 0.5,",
            3,
            "1 of 1 figures of session 0 (`delete-stall` on `sim:vendor2`) are left out \
             (a number in it is not sound)",
        ),
        ("\"name\": \"vendor2\",", "", 2, "session 0 is left out: missing field `name`"),
        (
            "\"finished\": true",
            "\"finished\": \"yes\"",
            3,
            "`finished` of session 0 (`delete-stall` on `sim:vendor2`) is not understood: \
             invalid type: string \"yes\", expected a boolean",
        ),
        (
            "\"method_version\": 1,",
            "",
            3,
            "`method_version` of session 0 (`delete-stall` on `sim:vendor2`) is missing",
        ),
        (
            "\"model_version\": 1",
            "\"model_version\": -1",
            3,
            "`program` is not understood: invalid value: integer `-1`, expected u32",
        ),
        ("\"seed\": 18446744073709551615,", "", 3, "`seed` is missing"),
    ];
    let whole = three();
    for (from, to, sessions, flaw) in table {
        assert!(whole.contains(from), "the text to edit is there: {from}");
        let Salvaged { record, flaws } = salvaged(&whole.replacen(from, to, 1));
        assert_eq!(flaws, [flaw], "{from}");
        assert_eq!(record.sessions.len(), sessions, "{from}");
        record.validate().unwrap();
    }
}

#[test]
fn a_field_that_is_there_twice_is_a_flaw_although_each_part_is_understood() {
    let twice = three().replacen("\"seed\": ", "\"seed\": 7,\n  \"seed\": ", 1);
    let Salvaged { record, flaws } = salvaged(&twice);
    assert_eq!(record.sessions.len(), 3);
    let flaw = "a value in the record is not what its field holds: duplicate field `seed`";
    assert!(matches!(&flaws[..], [only] if only.starts_with(flaw)), "{flaws:?}");
}

#[test]
fn what_is_nothing_is_refused_as_before() {
    for json in ["", "hello", "[]", "{\"schema\": 2}", "{\"schema\": 0, \"program\": 1}", "{\"sch"]
    {
        let refusal = salvage(json.as_bytes()).unwrap_err().to_string();
        assert_eq!(refusal, RunRecord::from_json(json.as_bytes()).unwrap_err().to_string());
    }
}
