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
    match asked {
        None => Ok(usual),
        Some(limit) if (1..=most).contains(&limit) => Ok(limit),
        Some(limit) => {
            Err(Problem::field("limit", "out_of_range", format!("{limit} is not between 1 and {most}")))
        }
    }
}
