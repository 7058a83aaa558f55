//! The Rhai engine. Together with its folder the only place that names `rhai`.
//!
//! Rhai has neither a clock nor a memory limit: the progress hook, called at every operation, reads the VM's flag and
//! the thread's memory count. Sizes of values are limited, since one native call may work on a whole value unwatched.

use std::cell::RefCell;
use std::rc::Rc;

#[expect(deprecated, reason = "see Kept")]
use rhai::NativeCallContextStore;
use rhai::{AST, Dynamic, Engine as Rhai, FnPtr, Scope};

use crate::plugin::files::{Files, RHAI};
use crate::plugin::host;
use crate::plugin::rhai::errors::failure;
use crate::plugin::value::Plain;
use crate::plugin::vm::desk::Desk;
use crate::plugin::vm::engine::{Argument, Engine, FunctionId, ScriptError};
use crate::plugin::vm::memory;

mod bind;
mod convert;
mod errors;
mod harden;
mod import;
mod lend;

/// Stack of a VM thread. Dropping deeply nested closures recurses natively; this much holds what the memory limit allows.
pub const STACK_BYTES: usize = 256 * 1024 * 1024;

/// One VM.
pub struct RhaiVm {
    engine: Rhai,
    files: Rc<Files>,
    shared: Rc<Shared>,
    /// Names bound by the loops, for the parity check.
    bound: Vec<String>,
}

/// What the bound functions need.
struct Shared {
    desk: Rc<Desk>,
    functions: RefCell<Vec<Rc<Kept>>>,
    /// The compiled entry script, which knows how many parameters a function has.
    entry: RefCell<Option<AST>>,
}

/// A script function as it was handed over.
#[expect(
    deprecated,
    reason = "the only way to keep what the script had imported where it wrote the function"
)]
struct Kept {
    pointer: FnPtr,
    context: NativeCallContextStore,
    /// How many arguments it takes; none where that is not known.
    takes: Option<usize>,
}

impl RhaiVm {
    /// A hardened VM with every function of `rows`.
    pub fn new(desk: &Rc<Desk>, rows: &[host::Function], files: Files) -> Self {
        memory::counted(|| {
            let shared = Rc::new(Shared {
                desk: Rc::clone(desk),
                functions: RefCell::default(),
                entry: RefCell::default(),
            });
            let files = Rc::new(files);
            let mut engine = Rhai::new();
            harden::engine(&mut engine, desk);
            engine.set_module_resolver(import::Resolver::new(&files));
            lend::register(&mut engine);
            let bound = bind::all(&mut engine, &shared, rows);
            Self { engine, files, shared, bound }
        })
    }

    fn argument(&self, argument: &Argument) -> Dynamic {
        match argument {
            Argument::Value(value) => convert::dynamic(value),
            Argument::Record(fields, transcript) => {
                let mut record = convert::dynamic(fields);
                if let Ok(mut map) = record.as_map_mut() {
                    map.insert("items".into(), Dynamic::from(lend::Items(Rc::clone(transcript))));
                }
                record
            }
            Argument::Emit(emitter) => Dynamic::from(lend::Emit(Rc::clone(emitter))),
        }
    }
}

impl Drop for RhaiVm {
    fn drop(&mut self) {
        // Script values are counted where they are freed, like where they were made.
        memory::counted(|| {
            self.shared.functions.borrow_mut().clear();
            self.shared.entry.borrow_mut().take();
        });
    }
}

impl Engine for RhaiVm {
    fn load(&self, entry: &str) -> Result<(), ScriptError> {
        let module = self.files.entry(entry, &RHAI).map_err(ScriptError::Raised)?;
        memory::counted(|| {
            let mut ast = self.engine.compile(&module.source).map_err(|error| {
                memory::uncounted(|| ScriptError::Raised(errors::parse(&error, &module.path)))
            })?;
            ast.set_source(module.path.as_str());
            *self.shared.entry.borrow_mut() = Some(ast.clone());
            let mut scope = Scope::new();
            self.engine
                .run_ast_with_scope(&mut scope, &ast)
                .map_err(|error| memory::uncounted(|| failure(&error, &module.path)))
        })
    }

    fn call(&self, function: FunctionId, arguments: Vec<Argument>) -> Result<Plain, ScriptError> {
        let found = self.shared.functions.borrow().get(function.0).cloned();
        let kept = found.ok_or_else(|| ScriptError::Raised("the function is gone".to_owned()))?;
        let outcome = memory::counted(|| {
            // A script function may take fewer arguments than it is offered, as a Luau function may.
            let takes = kept.takes.unwrap_or(arguments.len());
            let values: Vec<Dynamic> =
                arguments.iter().take(takes).map(|given| self.argument(given)).collect();
            #[expect(deprecated, reason = "see Kept")]
            let context = kept.context.create_context(&self.engine);
            let result = kept.pointer.call_within_context::<Dynamic>(&context, values);
            match result {
                Ok(value) => memory::uncounted(|| convert::plain(&value)).map_err(ScriptError::Value),
                Err(error) => {
                    #[expect(deprecated, reason = "see Kept")]
                    let file = kept.context.source.as_deref().unwrap_or_default();
                    Err(memory::uncounted(|| failure(&error, file)))
                }
            }
        });
        drop(arguments);
        outcome
    }

    fn exposed(&self) -> Vec<String> {
        self.bound.clone()
    }
}
