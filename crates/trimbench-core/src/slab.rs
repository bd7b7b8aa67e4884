//! A slab: items that are inserted and removed, each with a small number meanwhile.

use crate::units::{index, narrow};

/// All that are there. The number that was given back last is given out first.
#[derive(Clone, Debug)]
pub struct Slab<T> {
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
    pub fn add(&mut self, thing: T) -> u32 {
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
    pub fn get(&mut self, number: u32) -> &mut T {
        self.places[index(number.into())].as_mut().expect("a number is used until its thing goes")
    }

    /// Takes the thing of this number.
    ///
    /// # Panics
    /// If there is none.
    pub fn remove(&mut self, number: u32) -> T {
        self.vacant.push(number);
        self.places[index(number.into())].take().expect("a thing goes once")
    }

    /// All things, in the order of their numbers, which are free again.
    pub fn into_things(self) -> impl Iterator<Item = T> {
        self.places.into_iter().flatten()
    }

    /// All things, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().flatten()
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        (self.places.len() - self.vacant.len()) as u64
    }
}
