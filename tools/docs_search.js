// Browsers start no worker for a page that is opened from a disk: a hidden frame does its work there.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #loaded;

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href).href;
      this.#loaded = new Promise((done) => {
        script.onload = () => done(inside);
      });
      inside.document.body.append(script);
    }

    postMessage(data) {
      this.#loaded.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {}
  };
}
