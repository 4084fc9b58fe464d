// SPDX-License-Identifier: MIT
//
// condition-queue: a pipeline whose stages hand buffers on through bounded queues of a mutex and
// two std::condition_variable, as C++ programs have them. The first stage fills a buffer, each
// further one reads and changes all of it, the last one adds it up. The program knows nothing of
// the library that its threads come from.
//
//     condition-queue --stages=4 --pipelines=2 --buffer=16384 --items=2000
//     -> stages=4 pipelines=2 buffer=16384 items=2000 seconds=0.123456 sum=...
//
// A buffer belongs to the stage that has taken it from a queue.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "common/options.h"

namespace
{

uint64_t stages = 4, pipelines = 2, bytes = 16384, items = 2000, places = 2;

using Buffer = std::vector<uint32_t>;

class Queue
{
public:
    size_t limit = places;

    void put(Buffer *buffer)
    {
        std::unique_lock<std::mutex> hold(mutex);
        room.wait(hold, [this] { return buffers.size() < limit; });
        buffers.push_back(buffer);
        filled.notify_one();
    }

    Buffer *take()
    {
        std::unique_lock<std::mutex> hold(mutex);
        filled.wait(hold, [this] { return !buffers.empty(); });
        Buffer *buffer = buffers.front();
        buffers.pop_front();
        room.notify_one();
        return buffer;
    }

private:
    std::mutex mutex;
    std::condition_variable filled, room;
    std::deque<Buffer *> buffers;
};

// The queue behind stage i is queues[i]; the last stage gives buffers back to the first one, by a
// queue that has room for all.
struct Pipeline {
    std::vector<Queue> queues{stages + 1};
    std::vector<Buffer> buffers{places * stages, Buffer(bytes / sizeof(uint32_t))};
    uint64_t sum = 0;

    void work(uint64_t stage)
    {
        Queue &from = stage == 0 ? queues[stages] : queues[stage - 1];
        for (uint64_t i = 0; i < items; i++) {
            Buffer *buffer = from.take();
            if (stage == 0) {
                std::iota(buffer->begin(), buffer->end(), static_cast<uint32_t>(i));
            } else {
                for (uint32_t &word : *buffer) {
                    word = word * 3 + static_cast<uint32_t>(stage);
                }
            }
            if (stage == stages - 1) {
                sum = std::accumulate(buffer->begin(), buffer->end(), sum);
            }
            queues[stage == stages - 1 ? stages : stage].put(buffer);
        }
    }
};

uint64_t run()
{
    std::vector<Pipeline> all(pipelines);
    std::vector<std::thread> threads;
    uint64_t sum = 0;
    for (Pipeline &pipeline : all) {
        pipeline.queues[stages].limit = pipeline.buffers.size();
        for (Buffer &buffer : pipeline.buffers) {
            pipeline.queues[stages].put(&buffer);
        }
        for (uint64_t stage = 0; stage < stages; stage++) {
            threads.emplace_back(&Pipeline::work, &pipeline, stage);
        }
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Pipeline &pipeline : all) {
        sum += pipeline.sum;
    }
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    const option_spec options[] = {
        option_count("stages", &stages, 2, 64, "threads of a pipeline"),
        option_count("pipelines", &pipelines, 1, 1000, "beside each other"),
        option_count("buffer", &bytes, 64, 1 << 26, "bytes of a buffer"),
        option_count("items", &items, 1, 1000000000, "buffers that go through each pipeline"),
        option_count("places", &places, 1, 1000,
                     "of a queue; a pipeline has as many buffers for each stage"),
        {},
    };
    const option_page page = {"A pipeline over std::condition_variable.", nullptr, options};
    options_parse(argc, argv, &page);
    auto begin = std::chrono::steady_clock::now();
    uint64_t sum = run();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    std::printf("stages=%ju pipelines=%ju buffer=%ju items=%ju seconds=%.6f sum=%jx\n",
                static_cast<uintmax_t>(stages), static_cast<uintmax_t>(pipelines),
                static_cast<uintmax_t>(bytes), static_cast<uintmax_t>(items), seconds.count(),
                static_cast<uintmax_t>(sum));
    return 0;
}
