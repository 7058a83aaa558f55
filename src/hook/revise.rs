//! What an ordinary hook may make of a request's items: other texts, fewer images, nothing else. The cost follows
//! the edits; a plain array of items costs its length.

use std::sync::Arc;

use serde_json::Value;

use crate::hook::item::{Draft, with_text, without_image};
use crate::hook::moment::{Edit, Rejection};
use crate::hook::rebuild::beyond;
use crate::hook::reply::{list, wrong};
use crate::model::item::{Body, Item, Items, Kind};

/// The items after a reply that is an array or the lazy list's edits; none when nothing changed.
pub(crate) fn revise(
    before: &Items,
    array: Option<Value>,
    edits: Option<Vec<Edit>>,
) -> Result<Option<Items>, Rejection> {
    match (array.filter(|array| !array.is_null()), edits) {
        (Some(_), Some(_)) => Err(Rejection::shape("it returned both the list it was given and another")),
        (Some(array), None) => from_array(before, array),
        (None, Some(edits)) if !edits.is_empty() => from_edits(before, edits),
        (None, _) => Ok(None),
    }
}

fn from_array(before: &Items, array: Value) -> Result<Option<Items>, Rejection> {
    let drafts = list(array).map_err(|other| wrong("items", &other, "a list of items"))?;
    if drafts.len() != before.len() {
        return Err(Rejection::rule(format!(
            "it returns {} items for {}, and may not add or drop any",
            drafts.len(),
            before.len()
        )));
    }
    let mut now = Revised::of(before);
    for (at, (draft, base)) in drafts.into_iter().zip(before.iter()).enumerate() {
        now.set(at, revised(base, Draft::read(draft)?)?)?;
    }
    Ok(now.items())
}

fn from_edits(before: &Items, edits: Vec<Edit>) -> Result<Option<Items>, Rejection> {
    let mut now = Revised::of(before);
    for edit in edits {
        let (at, item) = match edit {
            Edit::SetText { at, text } => {
                let base = now.get(at)?;
                (at, permitted(base, with_text(base, text)?)?)
            }
            Edit::DropImage { at, id } => {
                let base = now.get(at)?;
                (at, without_image(base, &id)?)
            }
            Edit::Replace { at, item } => {
                let base = now.get(at)?;
                (at, revised(base, Draft::read(item)?.with_id_of(base))?)
            }
            Edit::Move { from, to } if from == to => continue,
            Edit::Remove { .. } => return Err(Rejection::rule("it drops an item")),
            Edit::Insert { .. } => return Err(Rejection::rule("it adds an item")),
            Edit::Move { .. } => return Err(Rejection::rule("it reorders items")),
        };
        now.set(at, item)?;
    }
    Ok(now.items())
}

/// The request's items, copied when the first of them changes.
struct Revised<'a> {
    before: &'a Items,
    now: Option<Vec<Arc<Item>>>,
}

impl<'a> Revised<'a> {
    fn of(before: &'a Items) -> Self {
        Self { before, now: None }
    }
    fn get(&self, at: usize) -> Result<&Arc<Item>, Rejection> {
        let items = self.now.as_ref().unwrap_or(self.before);
        items.get(at).ok_or_else(|| beyond(at, items.len()))
    }
    fn set(&mut self, at: usize, item: Arc<Item>) -> Result<(), Rejection> {
        if !Arc::ptr_eq(self.get(at)?, &item)
            && let Some(slot) = self.now.get_or_insert_with(|| self.before.to_vec()).get_mut(at)
        {
            *slot = item;
        }
        Ok(())
    }
    fn items(self) -> Option<Items> {
        self.now.map(Arc::new)
    }
}

/// The item with what a draft changes, if an ordinary hook may change that.
fn revised(base: &Arc<Item>, draft: Draft) -> Result<Arc<Item>, Rejection> {
    if draft.id() != Some(base.id.as_str()) {
        return Err(Rejection::rule(format!(
            "it has {} where item `{}` was, and may not reorder, add or drop items",
            draft.id().map_or_else(|| "an item without an id".to_owned(), |id| format!("item `{id}`")),
            base.id
        )));
    }
    if !draft.is(base) {
        return Err(Rejection::rule(format!("it changes the kind of item `{}`", base.id)));
    }
    permitted(base, draft.over(base)?)
}

/// The changed item, if only its text is another and its images are fewer, and its kind is one of those that may be
/// revised.
fn permitted(base: &Arc<Item>, now: Arc<Item>) -> Result<Arc<Item>, Rejection> {
    if Arc::ptr_eq(base, &now) {
        return Ok(now);
    }
    let kind = base.kind();
    if !matches!(kind, Kind::User | Kind::Assistant | Kind::ToolResult) {
        return Err(Rejection::rule(format!("it changes the {} item `{}`", kind.as_str(), base.id)));
    }
    if let (Body::ToolResult(then), Body::ToolResult(new)) = (&base.body, &now.body)
        && (&then.call_id, &then.name, then.failed) != (&new.call_id, &new.name, new.failed)
    {
        return Err(Rejection::rule(format!(
            "it changes `call_id`, `name` or `failed` of the tool result `{}`",
            base.id
        )));
    }
    let mut had = base.images().iter();
    if !now.images().iter().all(|image| had.any(|held| held == image)) {
        return Err(Rejection::rule(format!("it adds or reorders images of item `{}`", base.id)));
    }
    Ok(now)
}
