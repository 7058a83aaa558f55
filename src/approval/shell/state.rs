//! What is known while a line is followed: where it may stand, what variables may hold, what was tampered with.
//!
//! Every fact is a set of possibilities, so that branches are joined by union and a set that grows too large
//! becomes "not known".

use std::collections::HashMap;
use std::path::PathBuf;

/// The most directories or values that are followed.
const MAX_ALTERNATIVES: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The directories the next command may run in (real paths); none when not known.
    pub(super) directories: Option<Vec<PathBuf>>,
    /// Variables that were set on the line.
    variables: HashMap<String, Value>,
    /// What may have changed the meaning of programs that follow; none while nothing has.
    pub(super) tampered: Option<String>,
}

/// What a variable may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// One of these texts.
    Texts(Vec<String>),
    /// A whole number.
    Number,
    Unknown,
}

impl State {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directories: Some(vec![directory]), variables: HashMap::new(), tampered: None }
    }
    /// What another shell started here knows.
    pub(super) fn for_child(&self) -> Self {
        Self {
            directories: self.directories.clone(),
            variables: HashMap::new(),
            tampered: self.tampered.clone(),
        }
    }
    pub(super) fn variable(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }
    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.variables.insert(name.into(), value);
    }
    pub(super) fn forget_all(&mut self) {
        for value in self.variables.values_mut() {
            *value = Value::Unknown;
        }
    }
    pub(super) fn tamper(&mut self, why: String) {
        self.tampered.get_or_insert(why);
    }
    /// Either this state or the other holds.
    pub(super) fn join(&mut self, other: Self) {
        self.directories = match (self.directories.take(), other.directories) {
            (Some(mut ours), Some(theirs)) => {
                for directory in theirs {
                    if !ours.contains(&directory) {
                        ours.push(directory);
                    }
                }
                (ours.len() <= MAX_ALTERNATIVES).then_some(ours)
            }
            _ => None,
        };
        for (name, value) in &mut self.variables {
            let theirs = other.variables.get(name).cloned().unwrap_or(Value::Unknown);
            value.join(theirs);
        }
        for name in other.variables.into_keys() {
            self.variables.entry(name).or_insert(Value::Unknown);
        }
        if let Some(why) = other.tampered {
            self.tamper(why);
        }
    }
}

impl Value {
    /// One of several texts; too many are not followed.
    pub(super) fn texts(mut texts: Vec<String>) -> Self {
        texts.dedup();
        if texts.len() > 4 * MAX_ALTERNATIVES { Self::Unknown } else { Self::Texts(texts) }
    }
    pub(super) fn is_numeric(&self) -> bool {
        match self {
            Self::Number => true,
            Self::Texts(texts) => texts.iter().all(|text| is_number(text)),
            Self::Unknown => false,
        }
    }
    fn join(&mut self, other: Self) {
        *self = match (std::mem::replace(self, Self::Unknown), other) {
            (Self::Texts(mut ours), Self::Texts(theirs)) => {
                for text in theirs {
                    if !ours.contains(&text) {
                        ours.push(text);
                    }
                }
                Self::texts(ours)
            }
            (Self::Number, Self::Number) => Self::Number,
            (Self::Number, Self::Texts(texts)) | (Self::Texts(texts), Self::Number)
                if texts.iter().all(|text| is_number(text)) =>
            {
                Self::Number
            }
            _ => Self::Unknown,
        };
    }
}

pub(super) fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() < 18 && digits.chars().all(|c| c.is_ascii_digit())
}
