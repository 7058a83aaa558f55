//! `question` passes on what the operator said, and never says anything for them.

use crystal::model::port::{Answer, Ask};
use serde_json::json;

use crate::tool::desk::Desk;

#[tokio::test]
async fn answers_come_back_beside_their_questions() {
    let desk = Desk::new();
    desk.operator.answers.lock().unwrap().push_back(Answer::Answers(vec!["Yes".into(), String::new()]));
    let questions = json!({"questions": [
        {"question": "Go on?", "options": ["Yes", "No"], "multiple": false},
        {"question": "Which name?"}
    ]});
    let output = desk.done("question", questions).await;
    assert_eq!(output.text, "Question: Go on?\nAnswer: Yes\nQuestion: Which name?\nNo answer was given.\n");
    let asked = desk.operator.asked.lock().unwrap();
    let [Ask::Questions(asked)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(asked[0].options, ["Yes", "No"]);
    assert!(asked[1].options.is_empty());
}

/// dirge-code/dirge#523, AltimateAI/altimate-code#936, anthropics/claude-code#50728
#[tokio::test]
async fn nobody_there_is_said_and_no_option_is_taken() {
    for answer in
        [Answer::Dismissed, Answer::Answers(vec![String::new()]), Answer::Answers(vec![]), Answer::Deny(None)]
    {
        let desk = Desk::new();
        desk.operator.answers.lock().unwrap().push_back(answer);
        let output = desk
            .call("question", json!({"questions": [{"question": "Delete it?", "options": ["Yes", "No"]}]}))
            .await;
        assert!(output.failed && output.dismissed);
        assert!(output.text.contains("Nobody answered") && !output.text.contains("Yes"), "{}", output.text);
    }
}

#[tokio::test]
async fn a_cancelled_turn_takes_the_card_away() {
    struct Silent;
    impl crystal::model::port::Operator for Silent {
        fn ask(&self, _: Ask) -> crystal::model::port::BoxFuture<'_, Answer> {
            Box::pin(std::future::pending())
        }
    }
    let mut desk = Desk::new();
    desk.cx.operator = std::sync::Arc::new(Silent);
    desk.cx.cancel.cancel();
    let output = desk.call("question", json!({"questions": [{"question": "Still there?"}]})).await;
    assert!(output.dismissed);
}

#[tokio::test]
async fn a_call_without_questions_is_an_error() {
    let desk = Desk::new();
    assert!(desk.refused("question", json!({"questions": []})).await.contains("`questions`"));
    assert!(desk.refused("question", json!({"question": "x"})).await.contains("valid are questions"));
}
