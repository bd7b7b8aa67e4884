//! The cards of all drives of a record: who is a drive, and what the rules say of it.

use std::collections::BTreeMap;

use crate::advice::{Action, Advice};
use crate::drives::{MeasuredDrive, drives};
use crate::record::{AdviceCard, CardFact, CardLine, CardReason, RunRecord, Session};

#[cfg(test)]
mod tests;

/// A card for each drive, in the order in which they come first.
pub fn cards(record: &RunRecord) -> Vec<AdviceCard> {
    // By address: sessions may be equal.
    let places: BTreeMap<*const Session, usize> = record
        .sessions
        .iter()
        .enumerate()
        .map(|(index, session)| (std::ptr::from_ref(session), index))
        .collect();
    let index = |session: &&Session| places.get(&std::ptr::from_ref(*session)).copied();
    let of_one = drives(record.sessions.iter().map(|session| (0, session)), &[]);
    let card = |drive: &MeasuredDrive<'_>| {
        let sessions: Vec<usize> = drive.sessions.iter().filter_map(index).collect();
        card(&drive.name, &sessions, drive.advice())
    };
    of_one.iter().map(card).collect()
}

fn card(target: &str, sessions: &[usize], advice: Advice) -> AdviceCard {
    let in_record = |(index, id): (usize, String)| Some((*sessions.get(index)?, id));
    let reasons = advice.because.into_iter().map(|reason| CardReason {
        text: reason.text,
        figures: reason.figures.into_iter().filter_map(in_record).collect(),
        steps: reason.steps.into_iter().filter_map(in_record).collect(),
    });
    let lines = advice.lines.into_iter().map(|line| CardLine {
        system: line.system.to_owned(),
        file: line.file.map(str::to_owned),
        text: line.text,
        check: line.check,
        note: line.note.map(str::to_owned),
        tested: line.tested,
    });
    let facts = advice.facts.into_iter().map(|fact| CardFact {
        question: fact.question,
        known: fact.known.word().to_owned(),
        by: fact.by,
    });
    let paced = advice.paced.iter().map(|it| format!("{}: {} ({})", it.program, it.text, it.note));
    AdviceCard {
        target: target.to_owned(),
        sessions: sessions.to_vec(),
        action: advice.action.id().to_owned(),
        bytes: match advice.action {
            Action::SmallerDiscardMax { bytes } => Some(bytes),
            _ => None,
        },
        title: advice.action.title(),
        facts: facts.collect(),
        because: reasons.collect(),
        lines: lines.collect(),
        template: advice.template.map(str::to_owned),
        already: advice.already,
        paced: paced.collect(),
        would_change: advice.would_change,
        not_measured: advice.not_measured,
        remarks: advice.remarks,
        agreement: advice.agreement.into_iter().map(|it| it.text).collect(),
    }
}
