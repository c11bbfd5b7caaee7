//! The promises of every store (`SessionStore`), a function for each promise.

pub(crate) mod append;
pub(crate) mod bounds;
pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod model;
pub(crate) mod race;
pub(crate) mod removal;
pub(crate) mod retention;
pub(crate) mod shapes;
pub(crate) mod values;

/// Holds the contract against the stores that an expression places; each case has a place of its own.
macro_rules! contract {
    ($store:ident, $place:expr) => {
        mod $store {
            use super::*;

            cases! { $place =>
                append: [
                    a_session_begins, records_follow, an_append_holds_many_records, another_number_is_a_conflict,
                    a_session_that_is_not_there_goes_on_with_nothing, the_head_is_replaced, a_snapshot_replaces_the_one_before,
                    many_sessions_are_loaded_at_once, a_snapshot_of_the_first_record_holds,
                ],
                bounds: [the_deepest_values_come_back, the_largest_values_come_back],
                history: [records_come_in_pages, records_before_a_snapshot_stay, opening_again_keeps_everything, a_history_is_long],
                list: [
                    newest_first, equal_moments_come_by_name, due_soonest_first, only_of_one_graph, what_moves_meanwhile_is_not_lost,
                    steps_near_and_far_move_a_session, a_session_comes_to_another_graph, many_sessions,
                ],
                removal: [
                    a_session_goes, one_that_went_on_stays, what_is_not_there_is_gone, it_can_begin_again, old_records_go,
                    what_no_snapshot_holds_stays, it_goes_on_without_its_old_records,
                ],
                retention: [sessions_go_by_age_and_count, histories_are_cut_where_a_snapshot_holds_them, more_than_a_page_goes],
                shapes: [every_kind_of_text, large_records, odd_names, moments_at_the_edges, a_head_comes_back_whole],
                race: [one_wins_each_number, beginning_is_won_once, two_that_opened_it_race, many_sessions_do_not_disturb_each_other],
                model: [it_does_what_memory_does],
                values: [
                    what_is_put_is_there, of_two_writers_one_wins, what_is_over_is_never_shown_again,
                    a_number_that_was_seen_is_of_one_value, a_key_that_is_written_often_stays_small, keys_come_in_pages,
                ],
            }
        }
    };
}

/// A test for each case.
macro_rules! cases {
    ($place:expr => $($part:ident: [$($case:ident),* $(,)?]),* $(,)?) => {$(
        mod $part {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::contract::$part::$case(&$place).await;
                }
            )*
        }
    )*};
}
