//! Basis functions of a surface that are not linear in the coordinates.

use nalgebra::DVector;

use crate::parameter::Parameter;

/// What a factor of the surface is multiplied by.
#[derive(Clone, Debug)]
pub(super) enum BasisFunction<'a> {
    /// The value itself, or its inverse, over its greatest in the region: what adds to a time that
    /// others make, or bounds a rate beside others, is linear in one of them, however wide the
    /// region. Unlike a power of the coordinate it has no second extremum for a search to end in.
    Value {
        /// Of the coordinate.
        number: usize,
        parameter: &'a Parameter,
        /// The value's power: 1 or -1.
        power: f64,
        /// The logarithm of the value where the function is 1.
        over: f64,
    },
    /// Two coordinates, as far as they are from the middle.
    Product(usize, usize),
}

impl<'a> BasisFunction<'a> {
    /// Those of these coordinates in a region: each alone, then one with another; at most half as
    /// many as there are points that no linear term needs.
    pub(super) fn of(
        wide: &[usize],
        parameters: &'a [Parameter],
        [low, high]: [&DVector<f64>; 2],
        points: usize,
    ) -> Vec<Self> {
        let alone = wide.iter().flat_map(|&number| {
            [(1.0, high), (-1.0, low)].map(|(power, end)| {
                let parameter = &parameters[number];
                let over = parameter.value(end[number]).ln();
                Self::Value { number, parameter, power, over }
            })
        });
        let later = |(place, one): (usize, &usize)| {
            let one = *one;
            wide[place + 1..]
                .iter()
                .map(move |other| Self::Product(one, *other))
                .collect::<Vec<_>>()
        };
        let pairs = wide.iter().enumerate().flat_map(later);
        alone.chain(pairs).take(points / 2).collect()
    }

    /// Its value at a point, where the middle is another.
    pub(super) fn value(&self, at: &DVector<f64>, center: &DVector<f64>) -> f64 {
        match self {
            Self::Value { number, parameter, power, over } => {
                (power * (parameter.value(at[*number]).ln() - over)).exp()
            }
            Self::Product(one, other) => (at[*one] - center[*one]) * (at[*other] - center[*other]),
        }
    }

    /// The coordinates that it changes with, and how much.
    pub(super) fn slopes(&self, at: &DVector<f64>, center: &DVector<f64>) -> Vec<(usize, f64)> {
        match self {
            Self::Value { number, parameter, power, .. } => {
                vec![(*number, self.value(at, center) * power * parameter.slope(at[*number]))]
            }
            Self::Product(one, other) => {
                vec![(*one, at[*other] - center[*other]), (*other, at[*one] - center[*one])]
            }
        }
    }
}
