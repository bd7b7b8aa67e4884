//! The cards of all drives of a record: who is a drive, and what the rules say of it.

use crate::advice::{Action, Advice, advise, drive_name, drive_of};
use crate::record::{AdviceCard, CardLine, CardReason, RunRecord, Session};

#[cfg(test)]
mod tests;

/// A card for each drive, in the order in which they come first.
pub fn cards(record: &RunRecord) -> Vec<AdviceCard> {
    let mut drives: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, session) in record.sessions.iter().enumerate() {
        let name = drive_of(session);
        match drives.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sessions)) => sessions.push(index),
            None => drives.push((name, vec![index])),
        }
    }
    let session = |index: &usize| &record.sessions[*index];
    let short = |sessions: &[usize]| sessions.first().map(session).map_or("", drive_name);
    let card = |(name, sessions): &(String, Vec<usize>)| {
        // What was set of a drive is said where two have one name without it.
        let alike = drives.iter().filter(|(_, other)| short(other) == short(sessions)).count();
        let target = if alike > 1 { name } else { short(sessions) };
        let of_drive: Vec<&Session> = sessions.iter().map(session).collect();
        card(target, sessions, advise(&of_drive))
    };
    drives.iter().map(card).collect()
}

fn card(target: &str, sessions: &[usize], advice: Advice) -> AdviceCard {
    let in_record = |(index, id): (usize, String)| Some((*sessions.get(index)?, id));
    let reasons = advice.because.into_iter().map(|reason| CardReason {
        text: reason.text,
        figures: reason.figures.into_iter().filter_map(in_record).collect(),
    });
    let lines = advice.lines.into_iter().map(|line| CardLine {
        system: line.system.to_owned(),
        file: line.file.map(str::to_owned),
        text: line.text,
        tested: line.tested,
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
        because: reasons.collect(),
        lines: lines.collect(),
        paced: paced.collect(),
        would_change: advice.would_change,
        not_measured: advice.not_measured,
        remarks: advice.remarks,
        agreement: advice.agreement.into_iter().map(|it| it.text).collect(),
    }
}
