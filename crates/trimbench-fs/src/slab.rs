//! A slab: items that are inserted and removed, each with a small number meanwhile.

use trimbench_core::units::{index, narrow};

/// All that are there. The number that was given back last is given out first.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    places: Vec<Option<T>>,
    vacant: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { places: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Adds a thing; its number.
    pub(crate) fn add(&mut self, thing: T) -> u32 {
        if let Some(number) = self.vacant.pop() {
            self.places[index(number.into())] = Some(thing);
            return number;
        }
        self.places.push(Some(thing));
        narrow(self.places.len() as u64 - 1)
    }

    /// The thing of this number.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn get(&mut self, number: u32) -> &mut T {
        self.places[index(number.into())].as_mut().expect("a number is used until its thing goes")
    }

    /// Takes the thing of this number.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn remove(&mut self, number: u32) -> T {
        self.vacant.push(number);
        self.places[index(number.into())].take().expect("a thing goes once")
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    pub(crate) fn count(&self) -> u64 {
        (self.places.len() - self.vacant.len()) as u64
    }
}
