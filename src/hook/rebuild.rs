//! What a raw hook, or an event that replaces messages, may make of a request's items: anything that can be
//! represented. The cost follows the edits; a plain array of items costs its length.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::hook::item::{Draft, changed, with_text, without_image};
use crate::hook::moment::{Edit, Rejection};
use crate::hook::reply::{list, wrong};
use crate::model::item::{Body, Image, Item, ItemId, Items, Kind, MediaType};
use crate::model::port::ImageSource;

/// The images that a session holds, and whether a call takes any.
#[derive(Clone)]
pub struct Held {
    /// Where they are.
    pub images: Arc<dyn ImageSource>,
    /// Whether this call can carry images.
    pub accepts_images: bool,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").field("accepts_images", &self.accepts_images).finish_non_exhaustive()
    }
}

impl Held {
    /// Whether the session holds that image, as that type.
    pub(crate) fn check(&self, image: &Image) -> Result<(), Rejection> {
        let bytes = self.images.load(&image.id).ok_or_else(|| {
            Rejection::rule(format!("it names the image `{}`, which the session does not hold", image.id))
        })?;
        if MediaType::sniff(&bytes) != Some(image.media_type) {
            return Err(Rejection::rule(format!(
                "it names the image `{}` as {}, which it is not",
                image.id,
                image.media_type.as_str()
            )));
        }
        Ok(())
    }
}

/// The items after a reply that is an array or the lazy list's edits; none when nothing changed.
pub(crate) fn rebuild(
    before: &Items,
    array: Option<Value>,
    edits: Option<Vec<Edit>>,
    held: &Held,
) -> Result<Option<Items>, Rejection> {
    let mut build = Build { before, held, places: None, added: false, results: HashSet::new() };
    let mut items = match (array.filter(|array| !array.is_null()), edits) {
        (Some(_), Some(_)) => {
            return Err(Rejection::shape("it returned both the list it was given and another"));
        }
        (Some(array), None) => build.array(array)?,
        (None, Some(edits)) if !edits.is_empty() => build.edited(edits)?,
        (None, _) => return Ok(None),
    };
    if build.added {
        unique(&items)?;
    }
    if !build.results.is_empty() {
        name_results(&mut items, &build.results);
    }
    let same = items.len() == before.len() && items.iter().zip(before.iter()).all(|(a, b)| Arc::ptr_eq(a, b));
    Ok((!same).then(|| Arc::new(items)))
}

/// Refuses items of other kinds than these.
pub(crate) fn check_kinds(items: &[Arc<Item>], kinds: &[Kind]) -> Result<(), Rejection> {
    match items.iter().find(|item| !kinds.contains(&item.kind())) {
        None => Ok(()),
        Some(item) => Err(Rejection::rule(format!("it puts a {} item there", item.kind().as_str()))),
    }
}

struct Build<'a> {
    before: &'a Items,
    held: &'a Held,
    /// Where each id stood, once anyone asks.
    places: Option<HashMap<&'a str, usize>>,
    /// Whether an id may now stand twice.
    added: bool,
    /// Tool results that are new or answer another call.
    results: HashSet<ItemId>,
}

impl Build<'_> {
    fn array(&mut self, array: Value) -> Result<Vec<Arc<Item>>, Rejection> {
        let drafts = list(array).map_err(|other| wrong("items", &other, "a list of items"))?;
        self.added = true;
        drafts.into_iter().map(|draft| self.item(Draft::read(draft)?)).collect()
    }

    fn edited(&mut self, edits: Vec<Edit>) -> Result<Vec<Arc<Item>>, Rejection> {
        let mut items = self.before.to_vec();
        for edit in edits {
            match edit {
                Edit::SetText { at, text } => {
                    let slot = slot(&mut items, at)?;
                    *slot = self.checked(with_text(slot, text)?, Some(slot))?;
                }
                Edit::DropImage { at, id } => {
                    let slot = slot(&mut items, at)?;
                    *slot = without_image(slot, &id)?;
                }
                Edit::Replace { at, item } => {
                    let slot = slot(&mut items, at)?;
                    *slot = self.replaced(slot, Draft::read(item)?)?;
                }
                Edit::Remove { at } => {
                    slot(&mut items, at)?;
                    items.remove(at);
                }
                Edit::Insert { at, item } => {
                    self.added = true;
                    let item = self.item(Draft::read(item)?)?;
                    put(&mut items, at, item)?;
                }
                Edit::Move { from, to } => {
                    slot(&mut items, from)?;
                    let item = items.remove(from);
                    put(&mut items, to, item)?;
                }
            }
        }
        Ok(items)
    }

    /// The item that a draft puts in another's place.
    fn replaced(&mut self, base: &Arc<Item>, draft: Draft) -> Result<Arc<Item>, Rejection> {
        let draft = draft.with_id_of(base);
        if !draft.is(base) {
            self.added = true;
            return self.item(draft);
        }
        self.over(base, draft)
    }

    /// The item that a draft stands for: one of the request's, changed or not, or a new one.
    fn item(&mut self, draft: Draft) -> Result<Arc<Item>, Rejection> {
        let before = self.before;
        let places = self.places.get_or_insert_with(|| {
            before.iter().enumerate().map(|(place, item)| (item.id.as_str(), place)).collect()
        });
        let known = draft.id().and_then(|id| places.get(id)).and_then(|place| before.get(*place));
        match known {
            Some(base) if draft.is(base) => self.over(base, draft),
            _ => {
                let item = self.checked(draft.fresh()?, None)?;
                if item.kind() == Kind::ToolResult {
                    self.results.insert(item.id.clone());
                }
                Ok(item)
            }
        }
    }

    fn over(&mut self, base: &Arc<Item>, draft: Draft) -> Result<Arc<Item>, Rejection> {
        let item = draft.over(base)?;
        if let (Body::ToolResult(now), Body::ToolResult(then)) = (&item.body, &base.body)
            && (now.call_id != then.call_id || now.name != then.name)
        {
            self.results.insert(item.id.clone());
        }
        self.checked(item, Some(base))
    }

    /// The item, if a request can hold it.
    fn checked(&self, item: Arc<Item>, base: Option<&Arc<Item>>) -> Result<Arc<Item>, Rejection> {
        if base.is_some_and(|base| Arc::ptr_eq(base, &item)) {
            return Ok(item);
        }
        if let Body::Reasoning { text } = &item.body
            && text.is_empty()
        {
            return Err(Rejection::rule("it returns empty reasoning"));
        }
        for image in item.images() {
            if base.is_some_and(|base| base.images().contains(image)) {
                continue;
            }
            if !self.held.accepts_images {
                return Err(Rejection::rule("it adds an image to a request that takes none"));
            }
            self.held.check(image)?;
        }
        Ok(item)
    }
}

fn slot(items: &mut [Arc<Item>], at: usize) -> Result<&mut Arc<Item>, Rejection> {
    let length = items.len();
    items.get_mut(at).ok_or_else(|| beyond(at, length))
}

fn put(items: &mut Vec<Arc<Item>>, at: usize, item: Arc<Item>) -> Result<(), Rejection> {
    if at > items.len() {
        return Err(beyond(at, items.len()));
    }
    items.insert(at, item);
    Ok(())
}

pub(crate) fn beyond(at: usize, length: usize) -> Rejection {
    Rejection::shape(format!("it edits item {} of a list of {length}", at.saturating_add(1)))
}

fn unique(items: &[Arc<Item>]) -> Result<(), Rejection> {
    let mut seen = HashSet::with_capacity(items.len());
    match items.iter().find(|item| !seen.insert(&item.id)) {
        None => Ok(()),
        Some(item) => Err(Rejection::rule(format!("it repeats the item id `{}`", item.id))),
    }
}

/// Gives these tool results the name, and the id on the wire, of the calls they answer. One that answers no call of
/// the request keeps the name it was given.
fn name_results(items: &mut [Arc<Item>], results: &HashSet<ItemId>) {
    let calls: HashMap<_, _> = items
        .iter()
        .filter_map(|item| match &item.body {
            Body::ToolCall(call) => Some((call.id.clone(), (call.name.clone(), call.provider_id.clone()))),
            _ => None,
        })
        .collect();
    for item in items.iter_mut().filter(|item| results.contains(&item.id)) {
        let mut body = item.body.clone();
        if let Body::ToolResult(result) = &mut body
            && let Some((name, provider_id)) = calls.get(&result.call_id)
        {
            result.name = name.clone();
            result.provider_id = provider_id.clone();
        }
        if body != item.body {
            *item = changed(item, body);
        }
    }
}
