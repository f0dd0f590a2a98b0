//! Writes the API's document anew: `cargo run --example openapi`.
use claude_pipeline::pipeline::openapi;
use std::{error::Error, fs};

fn main() -> Result<(), Box<dyn Error>> {
    fs::write("docs/openapi.json", openapi::text()?)?;
    println!("docs/openapi.json is as the types say");
    Ok(())
}
