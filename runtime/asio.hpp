// SPDX-License-Identifier: Apache-2.0
//
// Boost.Asio, the parts that we use. 1.74 lacks <utility> under C++20, so it
// comes first (STYLE 2.0). Include this, never a header of Asio.
#pragma once

#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
