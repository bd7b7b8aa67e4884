use super::*;

#[test]
fn an_entry_is_one_line_of_json_and_is_read_again() {
    let write = LoggedCommand::Write { lba: 8, blocks: 16, generation: Some(3) };
    let zero = LoggedCommand::Write { lba: 8, blocks: 16, generation: None };
    let events = [
        LogEvent::Submitted { tag: 1, command: write },
        LogEvent::Submitted { tag: 1, command: zero },
        LogEvent::Submitted { tag: 2, command: LoggedCommand::Read { lba: 0, blocks: 1 } },
        LogEvent::Submitted { tag: 3, command: LoggedCommand::Discard { lba: 0, blocks: 1 } },
        LogEvent::Submitted { tag: 4, command: LoggedCommand::Flush },
        LogEvent::Completed { tag: 1, failed: true },
        LogEvent::PowerCut,
        LogEvent::Slowed { commands: 20_000_000, discards: 0 },
        LogEvent::NeighbourLost { before: 0, behind: 4_096 },
    ];
    for event in events {
        let entry = LogEntry { at: 5, event };
        let line = serde_json::to_string(&entry).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<LogEntry>(&line).unwrap(), entry, "{line}");
    }
    let entry = LogEntry { at: 5, event: events[0] };
    let line =
        r#"{"at":5,"submitted":{"tag":1,"command":"write","lba":8,"blocks":16,"generation":3}}"#;
    assert_eq!(serde_json::to_string(&entry).unwrap(), line);
}
