// SPDX-License-Identifier: Apache-2.0
#include "actors/fetch_rows.hpp"

#include "actors/failure_message.hpp"

namespace troupe::actors {

namespace {

/// A batch of rows is bounded by what a request may name.
constexpr std::size_t max_rows_bytes = std::size_t{256} << 20;

} // namespace

void fetch_rows(rank_context& rank,
                const runtime::experience::row_request& request,
                std::function<void(fetched_rows)> done) {
  rank.data_plane.fetch_async(
    runtime::experience::service_rows,
    runtime::experience::encode_row_request(request), max_rows_bytes,
    rank.process.patience(runtime::config::deadline::experience),
    [done = std::move(done)](runtime::transport::fetch_result result) {
      fetched_rows out;
      if (result.error) {
        out.error = std::move(result.error);
      } else {
        try {
          out.rows = runtime::experience::decode_rows(result.payload);
        } catch (const std::exception& e) {
          out.error = to_failure(e);
        }
      }
      done(std::move(out));
    });
}

} // namespace troupe::actors
