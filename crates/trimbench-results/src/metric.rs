//! A metric: what a figure is called, in which unit it is, and which way it is better.
//!
//! A method defines each of its metrics once, in the `metrics.rs` of its folder. A figure is a
//! metric with a measured value ([`Metric::measured`]), so that limits, comparisons, reports and
//! documents speak of the same thing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::role::Role;

mod coordinates;

pub use coordinates::{Coordinates, MetricAxis};

/// What a figure is, before it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Stable id, kebab-case: `stutter`.
    pub id: Cow<'static, str>,
    /// A short phrase for people: `stutter per GB deleted`.
    pub title: Cow<'static, str>,
    /// The unit, `s/GB`; empty for a plain number.
    pub unit: &'static str,
    /// Which way it is better.
    pub direction: Direction,
    /// Whether it may be the method's main result. Of a session it is the first such figure.
    pub headline: bool,
    /// Its meaning for advice about TRIM, if it has one.
    pub role: Option<Role>,
    /// Where in its family it stands; none if it belongs to none.
    pub coordinates: Coordinates,
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The lower the better: a latency, write amplification, lost blocks.
    Lower,
    /// The higher the better: a rate, a share of the fresh drive's speed.
    Higher,
    /// Neither: it describes the target and has no better or worse.
    #[default]
    Neither,
}

impl Metric {
    /// A metric that every run of its method has.
    pub const fn new(
        id: &'static str,
        title: &'static str,
        unit: &'static str,
        direction: Direction,
    ) -> Self {
        Self::of(Cow::Borrowed(id), Cow::Borrowed(title), unit, direction)
    }

    /// One metric of a family, such as one for each policy.
    pub fn member(
        id: impl Into<String>,
        title: impl Into<String>,
        unit: &'static str,
        direction: Direction,
    ) -> Self {
        Self::of(Cow::Owned(id.into()), Cow::Owned(title.into()), unit, direction)
    }

    /// The same at these places of its family, which its title names.
    pub fn placed(
        id: impl Into<String>,
        coordinates: Coordinates,
        unit: &'static str,
        direction: Direction,
    ) -> Self {
        Self::member(id, coordinates.phrase(), unit, direction).at(coordinates)
    }

    const fn of(
        id: Cow<'static, str>,
        title: Cow<'static, str>,
        unit: &'static str,
        direction: Direction,
    ) -> Self {
        let coordinates = Coordinates::none();
        Self { id, title, unit, direction, headline: false, role: None, coordinates }
    }

    /// The same as the method's main result.
    #[must_use]
    pub const fn headline(mut self) -> Self {
        self.headline = true;
        self
    }

    /// The same in this role.
    #[must_use]
    pub const fn of_role(mut self, role: Role) -> Self {
        // A constant is made without running a destructor.
        std::mem::forget(self.role.replace(role));
        self
    }

    /// The same at these places of its family.
    #[must_use]
    pub fn at(self, coordinates: Coordinates) -> Self {
        Self { coordinates, ..self }
    }
}
