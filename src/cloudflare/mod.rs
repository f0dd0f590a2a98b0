//! The only module that may name `worker`: bindings behind the pipeline's
//! ports, and the entry points. What deserves a unit test lives elsewhere.
mod ambient;
mod body;
mod claude_api;
mod d1;
mod desk;
mod entry;
mod fault;
mod health;
mod http;
mod pdf_stream;
mod queues;
mod r2;
mod reply;
mod result_reply;
mod scheduler_client;
mod scheduler_object;
mod scheduler_rows;
mod shell;
