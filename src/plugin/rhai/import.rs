//! `import`, confined to the plugin's own files and the standard library.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use rhai::{Engine, EvalAltResult, Module, ModuleResolver, Position, Scope, Shared};

use crate::plugin::files::{self, Files, RHAI};
use crate::plugin::host;
use crate::plugin::rhai::errors;
use crate::plugin::vm::memory;

/// Deepest nesting of modules that load one another.
const MAX_NESTED: usize = 32;

type Raised = Box<EvalAltResult>;

/// Finds, compiles and runs modules, each once.
pub(super) struct Resolver {
    files: Rc<Files>,
    /// Loaded modules by path; none while one is being loaded.
    loaded: RefCell<HashMap<String, Option<Shared<Module>>>>,
    /// The path behind each name that was asked for, so that a repeated import reads no file.
    paths: RefCell<HashMap<String, String>>,
}

impl Resolver {
    pub(super) fn new(files: &Rc<Files>) -> Self {
        Self { files: Rc::clone(files), loaded: RefCell::default(), paths: RefCell::default() }
    }

    fn once(
        &self,
        engine: &Engine,
        module: &files::Module,
        position: Position,
    ) -> Result<Shared<Module>, Raised> {
        match self.loaded.borrow().get(&module.path) {
            Some(Some(loaded)) => return Ok(Shared::clone(loaded)),
            Some(None) => {
                let message = format!("import: '{}' imports itself, directly or in a circle", module.path);
                return Err(refused(&message, position));
            }
            None => {}
        }
        if self.loaded.borrow().values().filter(|loaded| loaded.is_none()).count() >= MAX_NESTED {
            return Err(refused(&format!("import: modules are nested deeper than {MAX_NESTED}"), position));
        }
        self.loaded.borrow_mut().insert(module.path.clone(), None);
        let loaded = self.load(engine, module, position);
        match &loaded {
            Ok(fresh) => {
                self.loaded.borrow_mut().insert(module.path.clone(), Some(Shared::clone(fresh)));
            }
            Err(_) => {
                // A failed module may be tried again.
                self.loaded.borrow_mut().remove(&module.path);
            }
        }
        loaded
    }

    fn load(
        &self,
        engine: &Engine,
        module: &files::Module,
        position: Position,
    ) -> Result<Shared<Module>, Raised> {
        let mut ast = engine.compile(&module.source).map_err(|error| {
            errors::raise(memory::uncounted(|| errors::parse(&error, &module.path)), position)
        })?;
        ast.set_source(module.path.as_str());
        let run = Module::eval_ast_as_new(Scope::new(), &ast, engine);
        run.map(Shared::new)
            .map_err(|error| EvalAltResult::ErrorInModule(module.path.clone(), error, position).into())
    }
}

impl ModuleResolver for Resolver {
    fn resolve(
        &self,
        engine: &Engine,
        _: Option<&str>,
        name: &str,
        position: Position,
    ) -> Result<Shared<Module>, Raised> {
        let known = self.paths.borrow().get(name).and_then(|path| self.loaded.borrow().get(path).cloned());
        if let Some(Some(module)) = known {
            return Ok(module);
        }
        let found = memory::uncounted(|| {
            self.files.module(name, &RHAI).map_err(|message| host::short(&format!("import: {message}")))
        });
        let module = found.map_err(|message| errors::raise(message, position))?;
        let loaded = self.once(engine, &module, position);
        if loaded.is_ok() {
            self.paths.borrow_mut().insert(name.to_owned(), module.path.clone());
        }
        // The source is the host's memory: freed uncounted, as it was read.
        memory::uncounted(|| drop(module));
        loaded
    }
}

fn refused(message: &str, position: Position) -> Raised {
    EvalAltResult::ErrorRuntime(host::short(message).into(), position).into()
}
