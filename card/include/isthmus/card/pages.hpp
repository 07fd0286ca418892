// Memory that is used again: to touch 2 GiB anew takes longer than to move them.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace isthmus::card {

/// Anonymous memory that nobody uses now. It is given up when another size is asked for.
class PagePool {
 public:
  PagePool() = default;
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  /// Page-aligned; what it holds is left from before. Throws std::bad_alloc.
  std::byte* take(std::size_t bytes);
  void give_back(std::byte* data, std::size_t bytes);

 private:
  void clear();

  std::size_t bytes_ = 0;  ///< of each
  std::vector<std::byte*> spare_;
};

/// Memory of a pool, for as long as this lives.
class Pages {
 public:
  Pages(std::shared_ptr<PagePool> pool, std::size_t bytes)
      : pool_(std::move(pool)), data_(pool_->take(bytes)), bytes_(bytes) {}
  ~Pages() {
    if (pool_) {
      pool_->give_back(data_, bytes_);
    }
  }
  Pages(Pages&& other) noexcept = default;  // leaves the other without a pool
  Pages& operator=(Pages&&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<PagePool> pool_;
  std::byte* data_;
  std::size_t bytes_;
};

}  // namespace isthmus::card
