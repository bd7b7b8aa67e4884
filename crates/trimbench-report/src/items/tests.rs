use super::*;
use crate::testing::{three_drives, with_hostile_advice};

#[test]
fn there_is_one_for_each_figure_and_each_drive() {
    let record = three_drives();
    let items = items("x", &record);
    let has = |key: &str| items.iter().filter(|item| item.get(key).is_some()).count();
    let figures: usize = record.sessions.iter().map(|session| session.figures.len()).sum();
    assert_eq!((has("figure"), has("advice"), items.len()), (figures, 3, figures + 3));
}

#[test]
fn advice_is_that_of_the_rules_and_not_that_of_the_record() {
    let record = three_drives();
    assert_eq!(items("x", &with_hostile_advice(&record)), items("x", &record));
}
