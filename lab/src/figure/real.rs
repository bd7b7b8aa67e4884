//! Published figures of real drives beside ours.

use serde::{Deserialize, Serialize};

use super::short;

/// A published figure of a real drive, and ours. A [`Figure`](super::Figure) is the worst of
/// several, or how many of them hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RealFigure {
    /// The profile that stands for the drive.
    pub(crate) drive: String,
    /// What it is, without the drive.
    pub(crate) name: String,
    /// Whether something was fitted to it.
    pub(crate) standing: FigureStanding,
    /// Ours; `None` where the emulated drive did not keep up.
    pub(crate) ours: Option<f64>,
    /// The published one.
    pub(crate) real: RealValue,
    /// Of both; empty for a ratio.
    pub(crate) unit: String,
    /// How far ours is off: [`RealValue::off`], of a course the mean over its tenths; `None`
    /// without ours.
    pub(crate) off: Option<f64>,
    /// Whether ours is as near as it must be.
    pub(crate) holds: bool,
    /// Further remarks; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) remark: String,
    /// Of a response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) response: Option<ResponseTime>,
}

/// Which response time a figure is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ResponseTime {
    /// Writes that arrive in a second.
    pub(crate) writes_per_s: f64,
    /// `read p50`.
    pub(crate) quantity: String,
}

/// What was done with a published figure before it was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FigureStanding {
    /// A value of the profile was chosen so that it holds.
    Fitted,
    /// Nothing was fitted to it.
    Predicted,
    /// Neither: the model had no value to choose.
    Compared,
}

/// What is known of a real drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RealValue {
    /// A number.
    Exactly(f64),
    /// It lies below what the source can show.
    AtMost(f64),
    /// It lies beyond the end of the source's scale.
    AtLeast(f64),
    /// Several drives lie between these.
    Between(f64, f64),
}

impl FigureStanding {
    /// Every one, in the order of tables.
    pub(crate) const ALL: [Self; 3] = [Self::Predicted, Self::Fitted, Self::Compared];

    /// As tables say it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
            Self::Compared => "compared",
        }
    }

    /// By whether it was fitted.
    pub(crate) const fn of(is_fitted: bool) -> Self {
        if is_fitted { Self::Fitted } else { Self::Predicted }
    }
}

impl RealValue {
    /// How far `ours` is off: |ln(ours / real)|; 0 where it keeps to a bound or a range.
    pub(crate) fn off(self, ours: f64) -> f64 {
        match self {
            Self::Exactly(real) => (ours / real).ln().abs(),
            Self::AtMost(most) => (ours / most).ln().max(0.0),
            Self::AtLeast(least) => (least / ours).ln().max(0.0),
            Self::Between(low, high) => (low / ours).ln().max((ours / high).ln()).max(0.0),
        }
    }

    /// The number that lies nearest to others: of a range its lower end.
    pub(crate) const fn number(self) -> f64 {
        match self {
            Self::Exactly(number)
            | Self::AtMost(number)
            | Self::AtLeast(number)
            | Self::Between(number, _) => number,
        }
    }

    /// In words, with its unit.
    pub(crate) fn told(self, unit: &str) -> String {
        let number = match self {
            Self::Exactly(real) => short(real),
            Self::AtMost(most) => format!("at most {}", short(most)),
            Self::AtLeast(least) => format!("at least {}", short(least)),
            Self::Between(low, high) => format!("{} to {}", short(low), short(high)),
        };
        format!("{number} {unit}").trim_end().to_owned()
    }
}

impl RealFigure {
    /// A figure that is [off](RealValue::off) as the two values say.
    pub(crate) fn new(
        (drive, name): (&str, String),
        standing: FigureStanding,
        (ours, real, unit): (Option<f64>, RealValue, &str),
        holds: bool,
    ) -> Self {
        Self {
            drive: drive.to_owned(),
            name,
            standing,
            ours,
            real,
            unit: unit.to_owned(),
            off: ours.map(|ours| real.off(ours)),
            holds,
            remark: String::new(),
            response: None,
        }
    }

    /// Ours in words, with its unit.
    pub(crate) fn ours_told(&self) -> String {
        let ours = self.ours.map(|ours| RealValue::Exactly(ours).told(&self.unit));
        ours.unwrap_or_else(|| "not kept up with".to_owned())
    }

    /// The real one in words, with its unit.
    pub(crate) fn real_told(&self) -> String {
        self.real.told(&self.unit)
    }

    /// Both in words.
    pub(crate) fn both_told(&self) -> String {
        format!("ours {}, real {}", self.ours_told(), self.real_told())
    }
}

#[cfg(test)]
mod tests {
    use super::RealValue::{AtLeast, AtMost, Between, Exactly};

    #[test]
    fn a_bound_that_ours_keeps_leaves_no_residual() {
        for (real, ours, factor) in [
            (Exactly(20.0), 25.0, 1.25_f64),
            (Exactly(25.0), 20.0, 1.25),
            (AtMost(20.0), 19.0, 1.0),
            (AtMost(20.0), 25.0, 1.25),
            (AtLeast(20.0), 25.0, 1.0),
            (AtLeast(25.0), 20.0, 1.25),
            (Between(20.0, 30.0), 25.0, 1.0),
            (Between(20.0, 30.0), 16.0, 1.25),
            (Between(20.0, 30.0), 37.5, 1.25),
        ] {
            assert!((real.off(ours) - factor.ln()).abs() < 1e-12, "{real:?}, {ours}");
        }
        assert_eq!(AtMost(0.368).told("ms"), "at most 0.368 ms");
        assert_eq!(Between(1.5, 2.0).told(""), "1.5 to 2");
    }
}
