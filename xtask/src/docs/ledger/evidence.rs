//! Rows of the pages of evidence, and the single figures that their notes list.

use std::collections::BTreeMap;

/// A row of a page of evidence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EvidenceRow {
    pub(super) claim: String,
    pub(super) what: String,
    pub(super) figure: String,
    pub(super) bar: String,
    pub(super) holds: bool,
    pub(super) note: String,
}

/// A published figure beside ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LedgerFigure {
    pub(super) claim: String,
    /// The profile.
    pub(super) drive: String,
    pub(super) name: String,
    /// `fitted`, `predicted` or `compared`.
    pub(super) standing: &'static str,
    /// Both in words, with their unit; empty where the evidence has only how far they are apart.
    pub(super) real: String,
    pub(super) ours: String,
    /// How far ours is off: |ln(ours / real)|, of a course the mean over its tenths; 0 where the
    /// real one is a bound that ours keeps, `None` where ours is no number.
    pub(super) off: Option<f64>,
    pub(super) holds: bool,
    pub(super) bar: String,
    pub(super) remark: String,
}

/// A response time at a rate, as the note on the cells of a quantity lists it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResponseCell {
    pub(super) drive: String,
    /// Writes a second.
    pub(super) rate: String,
    /// `read p50`.
    pub(super) quantity: String,
    pub(super) figure: LedgerFigure,
}

impl EvidenceRow {
    /// Whether it was fitted or predicted, as it says itself.
    fn standing(&self) -> &'static str {
        if self.what.contains("fitted") {
            "fitted"
        } else if self.what.contains("predicted") {
            "predicted"
        } else {
            "compared"
        }
    }

    /// The drive, and what it is without that.
    fn subject(&self) -> Option<(&str, &str)> {
        self.what.split_once(": ")
    }

    pub(super) fn number(&self) -> Option<f64> {
        self.figure.split(' ').next()?.parse().ok()
    }

    /// What it says of one drive: each figure of which it is the worst, or itself.
    pub(super) fn figures(&self) -> Vec<LedgerFigure> {
        let Some((drive, subject)) = self.subject() else { return Vec::new() };
        let itself = LedgerFigure {
            claim: self.claim.clone(),
            drive: drive.to_owned(),
            name: [", ours over real", ", fitted", ", predicted"]
                .iter()
                .fold(subject.to_owned(), |name, part| name.replace(part, "")),
            standing: self.standing(),
            real: String::new(),
            ours: String::new(),
            off: self.residual(),
            holds: self.holds,
            bar: self.bar.clone(),
            remark: String::new(),
        };
        let listed = self.note.split("; ").map(|part| self.listed(part, &itself));
        let listed: Option<Vec<LedgerFigure>> = listed.collect();
        listed.unwrap_or_else(|| {
            let (ours, real, _) = both(&self.note).unwrap_or_default();
            vec![LedgerFigure { real, ours, ..itself }]
        })
    }

    /// One of the figures of which this is the worst: `NAME: OFF REMARK`, where the remark may have
    /// both figures, or `NAME: OURS for REAL (REMARK)`.
    fn listed(&self, part: &str, itself: &LedgerFigure) -> Option<LedgerFigure> {
        let (name, rest) = part.rsplit_once(": ")?;
        let (first, remark) = rest.split_once([' ', ',']).unwrap_or((rest, ""));
        let (first, remark): (f64, _) = (first.parse().ok()?, remark.trim());
        let most = self.bar.strip_prefix("<= ").and_then(|most| most.parse::<f64>().ok())?;
        let zones = if self.what.contains("of zones") { "zones of " } else { "" };
        let (name, itself) = (format!("{zones}{name}"), itself.clone());
        if let Some(real) = remark.strip_prefix("for ") {
            let (real, remark) = real.split_once(' ').unwrap_or((real, ""));
            let number: f64 = real.parse().ok()?;
            return Some(LedgerFigure {
                name: format!("write amplification, {name}"),
                real: real.to_owned(),
                ours: first.to_string(),
                off: Some((first / number).ln().abs()),
                holds: (first / number - 1.0).abs() <= most,
                remark: remark.trim_matches(['(', ')']).to_owned(),
                ..itself
            });
        }
        let (ours, real, remark) =
            both(remark).unwrap_or_else(|| (String::new(), String::new(), remark.to_owned()));
        Some(LedgerFigure {
            name,
            real,
            ours,
            off: Some(first),
            holds: first <= most,
            remark,
            ..itself
        })
    }

    /// The response times that it counts: `DRIVE at RATE writes/s, fitted: OURS of REAL us, off`.
    pub(super) fn cells(&self) -> Vec<ResponseCell> {
        let quantity = self.what.split(", ").nth(1).unwrap_or_default();
        let cell = |part: &str| {
            let (name, rest) = part.rsplit_once(": ")?;
            let (drive, rate) = name.split_once(" at ")?;
            let (rate, split) = rate.split_once(" writes/s")?;
            let (ours, rest) = rest.split_once(" of ")?;
            let (real, off) = rest.split_once(" us")?;
            let ratio = ours.parse::<f64>().ok().zip(real.parse::<f64>().ok());
            let figure = LedgerFigure {
                claim: self.claim.clone(),
                drive: drive.to_owned(),
                name: format!("{quantity} at {rate} writes/s"),
                standing: if split.contains("fitted") { "fitted" } else { "predicted" },
                real: format!("{real} us"),
                ours: if ratio.is_some() { format!("{ours} us") } else { ours.to_owned() },
                off: ratio.map(|(ours, real)| (ours / real).ln().abs()),
                holds: off.is_empty(),
                bar: String::new(),
                remark: String::new(),
            };
            let [drive, rate, quantity] = [drive, rate, quantity].map(str::to_owned);
            Some(ResponseCell { drive, rate, quantity, figure })
        };
        self.note.split("; ").filter_map(cell).collect()
    }

    /// How far it is off, as the logarithm of a factor: a figure that is a ratio to the real one
    /// has it in itself, one that is such a mean is it. 0 where the real one is a bound that ours
    /// keeps.
    fn residual(&self) -> Option<f64> {
        let number = self.number()?;
        if self.holds && self.note.contains(", real at ") {
            return Some(0.0);
        }
        Some(if self.what.ends_with("ours over real") { number.ln().abs() } else { number })
    }
}

/// `ours A, real B`, and what else a text says.
fn both(text: &str) -> Option<(String, String, String)> {
    let (before, rest) = text.split_once("ours ")?;
    let (ours, rest) = rest.split_once(", real ")?;
    let (real, after) = rest.split_once(", ").unwrap_or((rest, ""));
    let parts = [before.trim().trim_end_matches(','), after];
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Some((ours.to_owned(), real.to_owned(), said.join(", ")))
}

/// All rows of a page of evidence, with their notes.
pub(super) fn evidence(page: &str) -> Vec<EvidenceRow> {
    let notes: BTreeMap<(&str, &str), &str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("- ")?.split_once(", "))
        .flat_map(|(claim, rest)| {
            // What a note is on may hold a colon itself: each place where it may end is kept.
            rest.match_indices(": ").map(move |(at, _)| ((claim, &rest[..at]), &rest[at + 2..]))
        })
        .collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.strip_prefix("| ")?.split(" | ").collect();
        let [claim, what, figure, bar, holds, ..] = cells[..] else { return None };
        let claim = claim.trim_end_matches(" (short)");
        let is_claim =
            claim.split_once('.').is_some_and(|(_, number)| number.parse::<u8>().is_ok());
        is_claim.then(|| EvidenceRow {
            claim: claim.to_owned(),
            what: what.to_owned(),
            figure: figure.to_owned(),
            bar: bar.to_owned(),
            holds: holds == "yes",
            note: notes.get(&(claim, what)).copied().unwrap_or_default().to_owned(),
        })
    };
    page.lines().filter_map(row).collect()
}
