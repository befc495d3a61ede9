'use strict';

// `shop.busy` counts the calls under way, so that whoever drives the page can wait for it to settle.
const shop = { busy: 0 };
window.shop = shop;

const $ = (selector) => document.querySelector(selector);
const money = (cents) => (cents / 100).toFixed(2) + ' EUR';

async function call(method, path, body) {
  shop.busy++;
  try {
    const options = { method, headers: { accept: 'application/json' } };
    if (body !== undefined) {
      options.headers['content-type'] = 'application/json';
      options.body = JSON.stringify(body);
    }
    const answer = await fetch(path, options);
    const text = await answer.text();
    return { status: answer.status, data: text ? JSON.parse(text) : null };
  } finally {
    shop.busy--;
  }
}

function card(product) {
  const link = document.createElement('a');
  link.className = 'card';
  link.href = '/products/' + product.slug;
  const image = document.createElement('img');
  Object.assign(image, { src: '/images/' + product.slug + '.png', alt: product.name, width: 320, height: 240 });
  const name = document.createElement('p');
  name.textContent = product.name;
  const price = document.createElement('p');
  price.className = 'price';
  price.textContent = money(product.price);
  link.append(image, name, price);
  return link;
}

// The cart lives on the server; the page remembers only its number.
const cartId = () => localStorage.getItem('cart');
const cartPath = (rest = '') => '/api/carts/' + cartId() + rest;

function showCount(cart) {
  $('#cart-count').textContent = cart.items.reduce((sum, item) => sum + item.quantity, 0);
  localStorage.setItem('count', $('#cart-count').textContent);
}

async function addToCart(slug) {
  if (!cartId()) {
    const created = await call('POST', '/api/carts', {});
    localStorage.setItem('cart', created.data.id);
  }
  const cart = await call('POST', cartPath('/items'), { slug, quantity: 1 });
  showCount(cart.data);
  $('#note').textContent = 'In your cart.';
}

function showCart(cart) {
  showCount(cart);
  $('#items').replaceChildren(...cart.items.map((item) => {
    const row = document.createElement('tr');
    for (const text of [item.name, money(item.price), String(item.quantity)]) {
      const cell = document.createElement('td');
      cell.textContent = text;
      row.append(cell);
    }
    const actions = document.createElement('td');
    const more = document.createElement('button');
    Object.assign(more, { className: 'small more', textContent: 'one more' });
    more.onclick = async () =>
      showCart((await call('PUT', cartPath('/items/' + item.slug), { quantity: item.quantity + 1 })).data);
    const remove = document.createElement('button');
    Object.assign(remove, { className: 'small remove', textContent: 'remove' });
    remove.onclick = async () => {
      await call('DELETE', cartPath('/items/' + item.slug));
      showCart((await call('GET', cartPath())).data);
    };
    actions.append(more, ' ', remove);
    row.append(actions);
    return row;
  }));
  $('#total').textContent = money(cart.items.reduce((sum, item) => sum + item.price * item.quantity, 0));
  $('#order').disabled = cart.items.length === 0;
}

const pages = {
  async home() {
    const answer = await call('GET', '/api/products');
    $('#list').append(...answer.data.products.map(card));
  },

  async product() {
    const slug = document.body.dataset.slug;
    $('#add').onclick = () => addToCart(slug);
    const [product, reviews] = await Promise.all([
      call('GET', '/api/products/' + slug), call('GET', '/api/products/' + slug + '/reviews')]);
    $('#price').textContent = money(product.data.price);
    $('#stock').textContent = product.data.stock + ' in stock';
    for (const review of reviews.data.reviews) {
      const line = document.createElement('li');
      line.textContent = review.stars + ' of 5: ' + review.text;
      $('#reviews').append(line);
    }
    const related = await call('GET', '/api/products?tag=' + product.data.tag);
    $('#related').append(...related.data.products.filter((other) => other.slug !== slug).map(card));
    navigator.sendBeacon('/api/events', JSON.stringify({ seen: slug }));
  },

  async search() {
    const wanted = new URLSearchParams(location.search);
    const path = wanted.has('q') ? '/api/search?' : '/api/products?';
    $('#heading').textContent = wanted.get('q') || wanted.get('tag') || 'Everything';
    const answer = await call('GET', path + wanted);
    $('#count').textContent = answer.data.products.length + ' found';
    $('#list').append(...answer.data.products.map(card));
  },

  async cart() {
    if (!cartId()) return showCart({ items: [] });
    showCart((await call('GET', cartPath())).data);
    $('#order').onclick = async () => {
      const order = await call('POST', '/api/orders', { cart: cartId() });
      if (order.status === 401) return location.assign('/login');
      localStorage.clear();
      $('#cart-count').textContent = '0';
      $('#note').textContent = 'Thank you. Your order is ' + order.data.id + '.';
    };
  },

  async login() {
    if (location.hash === '#wrong') $('#note').textContent = 'That name and password do not match.';
  },

  async account() {
    const session = await call('GET', '/api/session');
    if (!session.data.user) return location.assign('/login');
    $('#hello').textContent = 'Hello ' + session.data.user + '.';
    const orders = await call('GET', '/api/orders');
    for (const order of orders.data.orders) {
      const line = document.createElement('li');
      const open = document.createElement('button');
      Object.assign(open, { className: 'small open', textContent: order.id });
      open.onclick = async () => {
        const one = await call('GET', '/api/orders/' + order.id);
        $('#details').textContent = one.data.items.map((item) => item.quantity + ' x ' + item.name).join(', ');
      };
      line.append(open, ' ' + money(order.total));
      $('#orders').append(line);
    }
    $('#logout').onclick = async () => {
      await call('POST', '/api/logout', {});
      location.assign('/');
    };
  },
};

addEventListener('DOMContentLoaded', async () => {
  $('#cart-count').textContent = localStorage.getItem('count') || '0';
  shop.busy++;
  try {
    await pages[document.body.dataset.page]?.();
  } finally {
    shop.busy--;
  }
});
