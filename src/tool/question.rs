//! The tool `question`: something that only the operator can answer. It never answers itself.

use serde_json::{Map, Value, json};

use crate::model::port::{self, Answer, Ask, BoxFuture};
use crate::model::request::ToolSpec;
use crate::text::cut;
use crate::tool::{Catalogs, MAX_OUTPUT_CHARS, Output, Tool, ToolContext, spec, text};

/// See the description below.
#[derive(Debug)]
pub struct Question(ToolSpec);

const DESCRIPTION: &str = "\
Asks the operator and waits for the answer. Use it when a decision is theirs and you cannot find it out yourself; put \
everything you need to know into one call. They may always answer in their own words. When nobody answers, the \
result says so: then decide nothing on their behalf that cannot be undone.";

const NOBODY: &str = "\
Nobody answered: the question was dismissed or there is no operator. Nothing was chosen; go on without an answer where \
that is safe, and say what remains open";

impl Question {
    /// The tool.
    pub fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "questions": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 20,
                    "items": {
                        "type": "object",
                        "properties": {
                            "question": { "type": "string", "minLength": 1, "description": "The whole question." },
                            "options": {
                                "type": "array",
                                "maxItems": 20,
                                "items": { "type": "string", "minLength": 1 },
                                "description": "Choices, the recommended one first. Leave out for a free answer."
                            },
                            "multiple": {
                                "type": "boolean",
                                "description": "Whether several options may be chosen. Default false."
                            }
                        },
                        "required": ["question"],
                        "additionalProperties": false
                    }
                }
            },
            "required": ["questions"],
            "additionalProperties": false
        });
        Self(spec("question", DESCRIPTION, schema))
    }
}

impl Default for Question {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Question {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn catalogs(&self) -> Catalogs {
        Catalogs { plan: true, work: true }
    }
    fn run<'a>(&'a self, arguments: &'a Map<String, Value>, cx: &'a ToolContext) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            let questions: Vec<_> = asked(arguments).map(question).collect();
            let answer = tokio::select! {
                answer = cx.operator.ask(Ask::Questions(questions.clone())) => answer,
                () = cx.cancel.cancelled() => Answer::Dismissed,
            };
            said(&questions, answer)
        })
    }
}

fn asked(arguments: &Map<String, Value>) -> impl Iterator<Item = &Map<String, Value>> {
    arguments.get("questions").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}

fn question(entry: &Map<String, Value>) -> port::Question {
    let options = entry.get("options").and_then(Value::as_array).into_iter().flatten();
    port::Question {
        question: text(entry, "question").to_owned(),
        options: options.filter_map(Value::as_str).map(str::to_owned).collect(),
        multiple: entry.get("multiple").and_then(Value::as_bool).unwrap_or_default(),
    }
}

fn said(questions: &[port::Question], answer: Answer) -> Output {
    let answers = match answer {
        Answer::Answers(answers) if answers.iter().any(|answer| !answer.trim().is_empty()) => answers,
        Answer::Deny(Some(words)) => {
            return Output {
                dismissed: true,
                ..Output::failed(format!("{NOBODY}. The operator said: {words}"))
            };
        }
        _ => return Output { dismissed: true, ..Output::failed(NOBODY) },
    };
    let given = answers.iter().map(|answer| answer.trim()).chain(std::iter::repeat(""));
    let lines = questions.iter().zip(given).map(|(question, answer)| match answer {
        "" => format!("Question: {}\nNo answer was given.\n", question.question),
        answer => format!("Question: {}\nAnswer: {answer}\n", question.question),
    });
    let lines: String = lines.collect();
    let note = |left: &str| format!("<{} characters left out>", left.chars().count());
    Output::said(cut::middle(&lines, MAX_OUTPUT_CHARS - 100, note))
}
