//! Binds every row of the host table: `crystal` as a static module, `emit` as methods of its type.

use std::rc::Rc;

use rhai::{
    AST, Dynamic, Engine, EvalAltResult, FnPtr, FuncRegistration, Map, Module, NativeCallContext as Cx,
};

use crate::plugin::host::{self, Answer, Given, Parameter, Place, Record, Scene, Shape};
use crate::plugin::rhai::convert::{self, Exact, Walk};
use crate::plugin::rhai::errors::raise;
use crate::plugin::rhai::lend::Emit;
use crate::plugin::rhai::{Kept, Shared};
use crate::plugin::value::{Budget, ValueError, settle};
use crate::plugin::vm::engine::FunctionId;
use crate::plugin::vm::lend::Emitter;
use crate::plugin::vm::memory;

type Raised = Box<EvalAltResult>;
type Outcome = Result<Dynamic, Raised>;

/// Binds all rows and returns the names that were bound, sorted.
pub(super) fn all(engine: &mut Engine, shared: &Rc<Shared>, rows: &[host::Function]) -> Vec<String> {
    let mut crystal = Module::new();
    let mut bound = Vec::new();
    for row in rows {
        for count in row.required()..=row.parameters.len() {
            match row.place {
                Place::Crystal => plain(&mut crystal, shared, *row, count),
                Place::Emit => method(engine, shared, *row, count),
            }
        }
        bound.push(row.path());
    }
    engine.register_static_module(Place::Crystal.name(), crystal.into());
    bound.sort();
    bound
}

/// A function of the module, for one number of arguments.
fn plain(module: &mut Module, shared: &Rc<Shared>, row: host::Function, count: usize) {
    let shared = Rc::clone(shared);
    let function = FuncRegistration::new(row.name).with_volatility(true);
    match count {
        0 => function.set_into_module(module, move |cx: Cx<'_>| call(&cx, &shared, &row, None, &[])),
        1 => function
            .set_into_module(module, move |cx: Cx<'_>, a: Dynamic| call(&cx, &shared, &row, None, &[a])),
        2 => function.set_into_module(module, move |cx: Cx<'_>, a: Dynamic, b: Dynamic| {
            call(&cx, &shared, &row, None, &[a, b])
        }),
        _ => function.set_into_module(module, move |cx: Cx<'_>, a: Dynamic, b: Dynamic, c: Dynamic| {
            call(&cx, &shared, &row, None, &[a, b, c])
        }),
    };
}

/// A method of `emit`, for one number of arguments.
fn method(engine: &mut Engine, shared: &Rc<Shared>, row: host::Function, count: usize) {
    let shared = Rc::clone(shared);
    match count {
        0 => engine.register_fn(row.name, move |cx: Cx<'_>, emit: &mut Emit| {
            call(&cx, &shared, &row, Some(&emit.0), &[])
        }),
        1 => engine.register_fn(row.name, move |cx: Cx<'_>, emit: &mut Emit, a: Dynamic| {
            call(&cx, &shared, &row, Some(&emit.0), &[a])
        }),
        _ => engine.register_fn(row.name, move |cx: Cx<'_>, emit: &mut Emit, a: Dynamic, b: Dynamic| {
            call(&cx, &shared, &row, Some(&emit.0), &[a, b])
        }),
    };
}

fn call(
    cx: &Cx<'_>,
    shared: &Shared,
    row: &host::Function,
    emitter: Option<&Emitter>,
    arguments: &[Dynamic],
) -> Outcome {
    let answer = memory::uncounted(|| {
        host::permit(row, &shared.desk)?;
        let mut given = Vec::with_capacity(row.parameters.len());
        for (index, parameter) in row.parameters.iter().enumerate() {
            given.push(match arguments.get(index) {
                Some(value) => argument(cx, shared, row, parameter, value)?,
                None => Given::Nothing,
            });
        }
        host::run(row, &Scene { desk: &shared.desk, emitter }, given)
    });
    match answer {
        Ok(Answer::Nothing) => Ok(Dynamic::UNIT),
        Ok(Answer::Value(value)) => {
            let copy = convert::dynamic(&value);
            memory::uncounted(|| drop(value));
            Ok(copy)
        }
        Ok(Answer::Exact(number)) => Ok(match number.as_i64() {
            Some(value) => value.into(),
            None => Dynamic::from(Exact(number)),
        }),
        Err(message) => Err(raise(message, cx.call_position())),
    }
}

fn argument(
    cx: &Cx<'_>,
    shared: &Shared,
    row: &host::Function,
    parameter: &Parameter,
    value: &Dynamic,
) -> Result<Given, String> {
    let wrong = || format!("{}: '{}' must be {}", row.path(), parameter.name, parameter.shape.name());
    let place = |error: ValueError| format!("{}: {}", row.path(), error.at(parameter.name));
    if value.is_unit() && (parameter.optional || parameter.shape == Shape::Value) {
        return Ok(Given::Nothing);
    }
    let fits = match parameter.shape {
        Shape::Text => value.is_string() || value.is_char(),
        Shape::Value => true,
        Shape::List => value.is_array(),
        Shape::Record => value.is_map(),
    };
    if !fits {
        return Err(wrong());
    }
    if parameter.shape == Shape::Record {
        return record(cx, shared, value).map(Given::Record).map_err(place);
    }
    Ok(Given::Value(settle(convert::plain(value).map_err(place)?, None)))
}

fn record(cx: &Cx<'_>, shared: &Shared, value: &Dynamic) -> Result<Record, ValueError> {
    let mut walk = Walk { budget: Budget::default(), depth: 1 };
    let mut record = Record::default();
    let Some(map) = value.read_lock::<Map>() else { return Err(ValueError::kind(value.type_name())) };
    for (key, value) in map.iter() {
        if let Some(function) = value.read_lock::<FnPtr>() {
            let id = FunctionId(shared.functions.borrow().len());
            record.functions.push((key.to_string(), id));
            // Kept as long as the VM and freed with it: script memory.
            memory::counted(|| {
                let kept = Rc::new(keep(cx, shared, &function));
                shared.functions.borrow_mut().push(kept);
            });
        } else {
            let plain = walk.value(value).map_err(|error| error.in_key(key))?;
            record.fields.insert(key.to_string(), settle(plain, None));
        }
    }
    Ok(record)
}

fn keep(cx: &Cx<'_>, shared: &Shared, pointer: &FnPtr) -> Kept {
    let entry = shared.entry.borrow();
    let script = entry.iter().flat_map(AST::iter_functions).find(|script| script.name == pointer.fn_name());
    let takes = script.map(|script| script.params.len().saturating_sub(pointer.curry().len()));
    #[expect(deprecated, reason = "see Kept")]
    let context = cx.store_data();
    Kept { pointer: pointer.clone(), context, takes }
}
