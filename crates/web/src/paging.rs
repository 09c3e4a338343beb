use serde::{Deserialize, Serialize};

use crate::{Problem, Result};

/// A part of a list.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next part begins; null at the end.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A list that is given whole.
    pub fn whole(items: Vec<T>) -> Self {
        Self { items, next_cursor: None }
    }
}

/// The caller's limit, or the usual one.
pub fn limit(asked: Option<usize>, usual: usize, most: usize) -> Result<usize> {
    within("limit", asked, usual, most)
}

/// A number of the query from 1 on, or the usual one.
pub fn within(field: &str, asked: Option<usize>, usual: usize, most: usize) -> Result<usize> {
    match asked {
        None => Ok(usual),
        Some(number) if (1..=most).contains(&number) => Ok(number),
        Some(number) => {
            Err(Problem::field(field, "out_of_range", format!("{number} is not between 1 and {most}")))
        }
    }
}
