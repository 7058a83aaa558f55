//! The todo tools keep one list, whole, and never lose it to a bad call.

use serde_json::{Value, json};

use crate::tool::desk::Desk;

async fn list(desk: &Desk) -> String {
    desk.done("todoread", json!({})).await.text
}

/// google-gemini/gemini-cli#22499
#[tokio::test]
async fn harmless_lists_are_accepted() {
    let desk = Desk::new();
    let two = json!({"todos": [
        {"content": "a", "status": "in_progress", "id": "1", "priority": "high"},
        {"content": "b", "status": "in_progress"},
        {"content": "c"}
    ]});
    desk.done("todowrite", two).await;
    assert_eq!(list(&desk).await, "1. [in_progress] a\n2. [in_progress] b\n3. [pending] c\n");
    let many: Vec<Value> =
        (0..200).map(|n| json!({"content": format!("step {n}"), "status": "completed"})).collect();
    desk.done("todowrite", json!({"todos": many})).await;
    assert_eq!(list(&desk).await.lines().count(), 200);
    desk.done("todowrite", json!({"todos": []})).await;
    assert!(list(&desk).await.contains("empty"));
}

/// google-gemini/gemini-cli#22499
#[tokio::test]
async fn a_bad_list_names_its_fault_and_keeps_the_old_one() {
    let desk = Desk::new();
    desk.done("todowrite", json!({"todos": [{"content": "keep", "status": "completed"}]})).await;
    for (todos, part) in [
        (json!([{"content": "x"}, {"content": "y", "status": "doing"}]), "`todos[1].status`"),
        (json!([{"content": "y", "status": "doing"}]), "in_progress"),
        (json!([{"status": "pending"}]), "`todos[0].content` is missing"),
        (json!([{"content": ""}]), "`todos[0].content`"),
        (json!("all of it"), "an array"),
    ] {
        let text = desk.refused("todowrite", json!({"todos": todos})).await;
        assert!(text.contains(part), "{text}");
        assert_eq!(list(&desk).await, "1. [completed] keep\n");
    }
}

#[tokio::test]
async fn a_list_longer_than_the_output_is_shown_with_its_ends() {
    let desk = Desk::new();
    let long = vec![json!({"content": "x".repeat(2000)}); 400];
    desk.done("todowrite", json!({"todos": long})).await;
    let text = list(&desk).await;
    assert!(text.chars().count() <= 100_000);
    assert!(text.starts_with("1. [pending] x") && text.contains("lines left out>") && text.ends_with("x\n"));
}
