//! What holds for the source tree as a whole: floors, licences, words.

mod floors;
mod licences;
mod words;
