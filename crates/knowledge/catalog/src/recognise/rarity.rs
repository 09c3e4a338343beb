//! When no phrase is known: single words, weighed by how rare they are among the categories.

use super::evidence::Generics;
use super::lexicon::{Lexicon, Reading, UNKNOWN};
use crate::model::Catalog;

pub(super) struct Rarity {
    /// Of each word: how much it tells (the logarithm of how few categories have it).
    weight: Vec<f32>,
    /// Of each word: the names that have it.
    names: Vec<Vec<u32>>,
    /// Of each name: its category, and the weight of all of its words together.
    totals: Vec<(u32, f32)>,
}

/// A word in more names than this tells nothing and costs time.
const COMMON: usize = 400;

impl Rarity {
    pub(super) fn build(catalog: &Catalog, lexicon: &Lexicon, generics: &Generics) -> Self {
        let mut names: Vec<Vec<u32>> = vec![Vec::new(); lexicon.len() + 1];
        let mut owners = Vec::new();
        let mut of_name: Vec<Vec<u32>> = Vec::new();
        for (index, category) in catalog.categories().iter().enumerate() {
            let texts = [category.names.ru.as_str(), &category.names.en];
            for text in texts.into_iter().chain(category.synonyms.all()) {
                // What a thing is made for is not the thing: «запчасти для планшетов» are no tablets.
                let reading = lexicon.read(text);
                let own = if generics.speaks_of_parts(text) { reading.undescribed() } else { reading };
                let telling = own.tokens.iter().filter(|token| token.telling);
                let mut words: Vec<u32> = telling.map(|token| token.id).collect();
                words.sort_unstable();
                words.dedup();
                for word in &words {
                    names[*word as usize].push(owners.len() as u32);
                }
                owners.push(index as u32);
                of_name.push(words);
            }
        }
        let all = owners.len().max(1) as f32;
        let weight: Vec<f32> =
            names.iter().map(|names| (1.0 + all / (1.0 + names.len() as f32)).ln()).collect();
        let total = |words: &Vec<u32>| words.iter().map(|word| weight[*word as usize]).sum::<f32>();
        let totals = owners.iter().zip(&of_name).map(|(owner, words)| (*owner, total(words))).collect();
        Self { weight, names, totals }
    }

    /// Categories by the share of a name's weight that the text has, from 0 to 1; the best first.
    pub(super) fn find(&self, reading: &Reading, limit: usize) -> Vec<(u32, f32)> {
        let mut words: Vec<u32> = reading
            .tokens
            .iter()
            .filter(|token| token.telling && token.id != UNKNOWN)
            .map(|token| token.id)
            .collect();
        words.sort_unstable();
        words.dedup();
        let known: f32 = words.iter().map(|word| self.weight[*word as usize]).sum();
        let mut hits: Vec<(u32, f32)> = Vec::new();
        for word in words {
            let names = &self.names[word as usize];
            if names.len() <= COMMON {
                hits.extend(names.iter().map(|name| (*name, self.weight[word as usize])));
            }
        }
        hits.sort_unstable_by_key(|(name, _)| *name);
        let mut best: Vec<(u32, f32)> = Vec::new();
        for hit in hits.chunk_by(|a, b| a.0 == b.0) {
            let (category, total) = self.totals[hit[0].0 as usize];
            let met: f32 = hit.iter().map(|(_, weight)| weight).sum();
            best.push((category, met / total * (0.5 + 0.5 * met / known)));
        }
        best.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        best.dedup_by_key(|(category, _)| *category);
        best.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        best.truncate(limit);
        best
    }
}
